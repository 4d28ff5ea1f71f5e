// Reads the translation aloud with the voices of this machine: others would send it to another host.

import { byId } from "../dom.js";

export class Speech {
  #button = byId("listen", HTMLButtonElement);
  #language = "";

  /** @param {import("../pane.js").Pane} pane */
  constructor(pane) {
    speechSynthesis.addEventListener("voiceschanged", () => this.offer(this.#language));
    this.#button.addEventListener("click", () => {
      if (speechSynthesis.speaking) return speechSynthesis.cancel();
      const utterance = new SpeechSynthesisUtterance(pane.plain);
      utterance.lang = this.#language;
      utterance.voice = this.#voice ?? null;
      speechSynthesis.speak(utterance);
    });
  }

  /** Shows the button if there is a voice. @param {string} language of the translation; "" if there is none */
  offer(language) {
    this.#language = language;
    this.#button.hidden = !this.#voice;
  }

  get #voice() {
    const [own] = this.#language.split("-");
    return speechSynthesis.getVoices().find((voice) => voice.localService && voice.lang.split(/[-_]/)[0] === own);
  }
}
