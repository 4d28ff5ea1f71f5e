// Other words in place of one of the translation, and what the translation would then be.

import { ApiError, post } from "../api.js";
import { make } from "../dom.js";
import { percent, t } from "../i18n.js";

/** @typedef {import("../page.js").Page} Page */
/** @typedef {import("./spans.js").Word} Word */
/** @typedef {{text: string, probability: number, translation?: string}} NextWord */

const COUNT = 6;
const LEAST_PROBABILITY = 0.001;
const NOT_FOUND = 404;

export class NextWords {
  #page;
  #box = make("div", { id: "next-words", role: "dialog", tabindex: "-1" });
  /** @type {HTMLElement | null} */
  #anchor = null;
  #asking = new AbortController();

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    this.#box.hidden = true;
    document.querySelector("#translation")?.append(this.#box);
    this.#box.addEventListener("keydown", (event) => this.#pressed(event));
    document.addEventListener("pointerdown", (event) => {
      const isInside = event.target instanceof Node && this.#box.contains(event.target);
      if (!this.#box.hidden && !isInside) this.#close();
    });
  }

  /**
   * Shows the words that may stand at this place. Returns whether the server knows such words.
   * @param {Word} word
   * @param {HTMLElement} element
   */
  async open(word, element) {
    const found = this.#page.sentence(word);
    if (!found) return true;
    const { sentence, index } = found;
    const prefix = sentence.detail.target.slice(0, word.start - sentence.target.start).trimEnd();
    this.#asking.abort();
    this.#asking = new AbortController();
    this.#anchor = element;
    this.#show(make("p", { class: "note", role: "status" }, t("nextLoading")), element);
    try {
      const { from: source, to: target } = this.#page.pair();
      const fields = { q: sentence.detail.source, source, target, prefix, k: COUNT };
      const { words } = await post("translate/next", fields, this.#asking.signal);
      this.#fill(words, prefix, index, element);
    } catch (error) {
      if (this.#asking.signal.aborted) return true;
      if (error instanceof ApiError && error.status === NOT_FOUND) {
        this.#close();
        this.#page.status.tellBriefly(t("nextMissing"));
        return false;
      }
      const reason = error instanceof Error ? error.message : String(error);
      this.#show(make("p", { class: "note", role: "status" }, t("backFailed", { reason })), element);
    }
    return true;
  }

  /**
   * @param {NextWord[]} words
   * @param {string} prefix
   * @param {number} index
   * @param {HTMLElement} element
   */
  #fill(words, prefix, index, element) {
    const current = element.textContent ?? "";
    const items = distinct(words.filter((word) => isWord(word, prefix))).map((word) => {
      const isCurrent = word.text.trim() === current;
      const button = make("button", { type: "button", ...(isCurrent ? { "aria-current": "true" } : {}) },
        make("span", { class: "word" }, make("bdi", {}, word.text.trim()), make("small", {}, share(word.probability))),
        ...(word.translation ? [make("bdi", { class: "rest" }, word.translation)] : []));
      button.addEventListener("click", () => {
        this.#close();
        this.#page.begin(index, prefix + word.text);
      });
      return make("li", {}, button);
    });
    const title = make("p", { class: "note" }, items.length ? t("nextTitle", { word: current }) : t("nextNone"));
    this.#show(make("div", {}, title, make("ul", {}, ...items)), element);
    (this.#box.querySelector("button") ?? this.#box).focus();
  }

  /**
   * @param {HTMLElement} content
   * @param {HTMLElement} element
   */
  #show(content, element) {
    const frame = /** @type {HTMLElement} */ (this.#box.parentElement);
    this.#box.lang = element.closest("[lang]")?.getAttribute("lang") ?? "";
    this.#box.setAttribute("aria-label", t("nextTitle", { word: element.textContent ?? "" }));
    this.#box.replaceChildren(content);
    this.#box.hidden = false;
    const word = element.getBoundingClientRect(), around = frame.getBoundingClientRect();
    const left = Math.max(8, Math.min(word.left - around.left, around.width - this.#box.offsetWidth - 8));
    this.#box.style.left = `${left}px`;
    this.#box.style.top = `${word.bottom - around.top + 6}px`;
  }

  #close() {
    this.#asking.abort();
    const hadFocus = this.#box.contains(document.activeElement);
    this.#box.hidden = true;
    if (hadFocus && this.#anchor?.isConnected) this.#anchor.focus();
    else if (hadFocus) document.getElementById("target")?.querySelector("span")?.focus();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const buttons = [...this.#box.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const to = steps[/** @type {"Home"} */ (event.key)];
    if (event.key === "Escape") this.#close();
    else if (to === undefined || !buttons.length) return;
    else buttons.at(to % buttons.length)?.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * Whether it is a word of its own: not a mark, an end of the word before, or what is hardly possible.
 * @param {NextWord} word
 * @param {string} prefix
 */
export function isWord({ text, probability }, prefix) {
  const isGlued = /\p{Cased}$/u.test(prefix) && /^\p{Cased}/u.test(text);
  return probability >= LEAST_PROBABILITY && /[\p{L}\p{N}]/u.test(text) && !isGlued;
}

/**
 * Each word once, where a text is also possible without a space before it.
 * @param {NextWord[]} words
 */
export function distinct(words) {
  const seen = new Map(words.toReversed().map((word) => [word.text.trim(), word]));
  return words.filter((word) => seen.get(word.text.trim()) === word);
}

/** @param {number} probability */
export function share(probability) {
  return probability < 0.005 ? `< ${percent(0.01)}` : percent(probability);
}
