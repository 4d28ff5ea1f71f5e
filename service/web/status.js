// What people are told: the line of troubles, and the announcements for screen readers.

import { byId } from "./dom.js";
import { number, t } from "./i18n.js";

const BRIEF_MILLISECONDS = 4000;

export class Status {
  #box = byId("status", HTMLElement);
  #text = byId("status-text", HTMLElement);
  #retry = byId("retry", HTMLButtonElement);
  #timer = 0;

  /** @param {() => void} retry */
  constructor(retry) {
    this.#retry.addEventListener("click", retry);
  }

  /**
   * Shows a message until `clear`.
   * @param {string} text
   * @param {boolean} [canRetry]
   */
  tell(text, canRetry = false) {
    clearInterval(this.#timer);
    this.#show(text, canRetry);
  }

  /**
   * Shows a message for a moment.
   * @param {string} text
   */
  tellBriefly(text) {
    this.tell(text);
    this.#box.classList.add("is-done");
    this.#timer = setTimeout(() => this.clear(), BRIEF_MILLISECONDS);
  }

  /**
   * Counts down to the next try.
   * @param {import("./connection.js").Reason | "noLanguages"} key
   * @param {number} seconds
   * @param {string} [reason] the server's sentence
   */
  countDown(key, seconds, reason = "") {
    clearInterval(this.#timer);
    let left = Math.ceil(seconds);
    const show = () => {
      const when = left > 0 ? t("inSeconds", { seconds: number(left) }) : t("now");
      this.#show(t(key, { when, reason }), true, left === Math.ceil(seconds));
      left -= 1;
    };
    show();
    this.#timer = setInterval(show, 1000);
  }

  clear() {
    clearInterval(this.#timer);
    this.#box.hidden = true;
    this.#text.textContent = "";
  }

  /**
   * @param {string} text
   * @param {boolean} canRetry
   * @param {boolean} [isNew] whether a screen reader says it
   */
  #show(text, canRetry, isNew = true) {
    this.#text.setAttribute("aria-live", isNew ? "polite" : "off");
    this.#box.hidden = false;
    this.#box.classList.remove("is-done");
    this.#text.textContent = text;
    this.#retry.hidden = !canRetry;
  }
}

/** Tells a screen reader each sentence once, when it is complete. */
export class Announcer {
  #region = byId("announcer", HTMLElement);
  /** @type {string[]} */
  #said = [];
  /** @type {string[]} */
  #parts = [];

  begin() {
    this.#parts = [];
  }

  /**
   * Adds a part of a sentence; says the sentence before it.
   * @param {string} text
   * @param {number} sentence
   */
  add(text, sentence) {
    const isNext = this.#parts.length && !(sentence in this.#parts);
    this.#parts[sentence] = (this.#parts[sentence] ?? "") + text;
    if (isNext) this.#say(Object.keys(this.#parts).map(Number).filter((n) => n < sentence));
  }

  /**
   * Says what was not said yet.
   * @param {string} language
   */
  end(language) {
    this.#region.lang = language;
    this.#say(Object.keys(this.#parts).map(Number));
    this.#said.length = this.#parts.length;
  }

  /** @param {number[]} sentences */
  #say(sentences) {
    const unsaid = sentences.filter((n) => this.#said[n] !== this.#parts[n]);
    for (const n of unsaid) this.#said[n] = this.#parts[n];
    if (unsaid.length) this.#region.textContent = unsaid.map((n) => this.#parts[n].trim()).join(" ");
  }
}
