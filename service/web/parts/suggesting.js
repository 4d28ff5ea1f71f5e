// A better translation, which people suggest where the server stores suggestions.

import { post } from "../api.js";
import { make } from "../dom.js";
import { t } from "../i18n.js";
import { directionOf } from "../languages.js";

/** @typedef {import("./understanding.js").Explained} Explained */

export class Suggesting {
  #button = make("button", { type: "button", class: "tool", hidden: "" });
  #text = make("textarea", { class: "text small", rows: "3", required: "" });
  #label = make("span", { class: "note" });
  #send = make("button", { class: "tool" });
  #told = make("p", { class: "note", role: "status" });
  #form = make("form", { id: "suggestion", hidden: "" }, make("label", {}, this.#label, this.#text), this.#send);
  /** @type {Explained | null} */
  #explained = null;
  #isOffered = false;

  constructor() {
    const tools = document.querySelector("#translation .tools");
    tools?.append(this.#button);
    tools?.before(this.#form, this.#told);
    this.#button.addEventListener("click", () => this.#open());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#suggest();
    });
    void isOffered().then((is) => {
      this.#isOffered = is;
      this.follow(this.#explained);
    });
  }

  /** @param {Explained | null} explained the shown translation */
  follow(explained) {
    this.#explained = explained;
    this.#button.textContent = t("suggest");
    this.#label.textContent = t("suggestLabel");
    this.#send.textContent = t("suggestSend");
    this.#button.hidden = !this.#isOffered || !explained || explained.isFormatted;
    this.#form.hidden = true;
    this.#told.textContent = "";
  }

  #open() {
    const { target = "", to = "" } = this.#explained ?? {};
    this.#form.hidden = !this.#form.hidden;
    this.#text.value = target;
    this.#text.lang = to;
    this.#text.dir = directionOf(to);
    if (!this.#form.hidden) this.#text.focus();
  }

  async #suggest() {
    if (!this.#explained) return;
    const { source: q, from: source, to: target } = this.#explained;
    try {
      await post("suggest", { q, s: this.#text.value, source, target });
      this.#form.hidden = true;
      this.#told.textContent = t("suggested");
    } catch (error) {
      this.#told.textContent = t("backFailed", { reason: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** Whether the server stores suggestions. */
async function isOffered() {
  const answer = await fetch(new URL("frontend/settings", document.baseURI)).catch(() => null);
  return Boolean(answer?.ok && (await answer.json()).suggestions);
}
