// The pane of the translation. What is there already stays: only the part that differs is replaced.

import { byId, make } from "./dom.js";

/** @typedef {import("./parts/spans.js").Word} Word */

const MOST_HELD_PIXELS = 160;

export class Pane {
  #target = byId("target", HTMLElement);
  #frame = byId("translation", HTMLElement);
  #text = document.createTextNode("");
  /** @type {HTMLElement[]} */
  #elements = [];
  /** @type {Word[]} */
  #words = [];
  #isRich = false;
  /** The place of the word that had the focus when the translation changed; -1: none had. */
  #focused = -1;
  #pointed;
  #chosen;

  /**
   * @param {(word: Word | null) => void} pointed called when a word is pointed at or focused
   * @param {(word: Word, element: HTMLElement) => void} chosen called when it is clicked
   */
  constructor(pointed, chosen) {
    this.#pointed = pointed;
    this.#chosen = chosen;
    this.#target.append(this.#text);
    for (const kind of ["pointerover", "focusin"]) {
      this.#target.addEventListener(kind, (event) => this.#point(event.target));
    }
    this.#target.addEventListener("pointerleave", () => this.#pointed(null));
    this.#target.addEventListener("focusout", () => this.#pointed(null));
    this.#target.addEventListener("keydown", (event) => this.#walk(event));
    this.#target.addEventListener("click", (event) => this.#choose(event.target));
  }

  /** The text with its lines, where it is formatted. */
  get plain() {
    return this.#isRich ? this.#target.innerText.trim() : this.text;
  }

  get text() {
    return this.#target.textContent ?? "";
  }

  /**
   * What is around the text moves up only if the text is cleared, or much shorter in the end.
   * @param {boolean} isBusy
   */
  busy(isBusy) {
    this.#frame.setAttribute("aria-busy", String(isBusy));
    const height = () => this.#frame.getBoundingClientRect().height;
    const held = height();
    if (!isBusy) this.#frame.style.removeProperty("min-height");
    if (isBusy || (this.text && held - height() < MOST_HELD_PIXELS)) this.#frame.style.minHeight = `${held}px`;
  }

  /** @param {boolean} isStale whether it is of another text than the one that stands there now */
  stale(isStale) {
    this.#frame.classList.toggle("is-stale", isStale);
  }

  /**
   * Shows the beginning of a new translation. While it agrees with the old one, the old one stays.
   * @param {string} text
   */
  stream(text) {
    if (!this.text.startsWith(text)) this.show(text);
  }

  /**
   * Shows a text; keeps the nodes of the beginning that it shares with the one before.
   * @param {string} text
   */
  show(text) {
    if (this.#elements.length || this.#isRich) this.#flatten();
    const old = this.#text.data;
    let same = 0;
    while (same < old.length && same < text.length && old[same] === text[same]) same += 1;
    if (same < old.length || same < text.length) {
      this.#text.replaceData(same, old.length - same, text.slice(same));
    }
  }

  /**
   * Shows formatted text, made of nodes that are safe.
   * @param {Node[]} nodes
   */
  showNodes(nodes) {
    if (!this.#isRich) this.show("");
    this.#isRich = true;
    this.#target.replaceChildren(...nodes);
  }

  /**
   * Sets the language and direction of the translation.
   * @param {string} language
   * @param {"ltr" | "rtl" | "auto"} direction
   */
  speak(language, direction) {
    this.#target.lang = language;
    this.#target.dir = direction;
  }

  /**
   * Makes the words of the shown text selectable by pointer and keys.
   * @param {Word[]} words
   * @param {(word: Word) => boolean} isDoubtful
   */
  annotate(words, isDoubtful) {
    const text = this.text;
    /** @type {(Node | string)[]} */
    const parts = [];
    const focused = Math.max(0, Math.min(this.#focused, words.length - 1));
    let at = 0;
    this.#words = words;
    this.#elements = words.map((word, index) => {
      const element = make("span", { class: isDoubtful(word) ? "w is-doubtful" : "w" });
      element.textContent = text.slice(word.start, word.end);
      element.tabIndex = index === focused ? 0 : -1;
      parts.push(text.slice(at, word.start), element);
      at = word.end;
      return element;
    });
    if (!words.length) return;
    this.#target.replaceChildren(...parts, text.slice(at));
    if (this.#focused >= 0 && document.activeElement === document.body) this.#elements[focused].focus();
    this.#focused = -1;
  }

  /**
   * Lights up the words at these positions.
   * @param {(word: Word) => boolean} isLit
   */
  light(isLit) {
    this.#words.forEach((word, i) => this.#elements[i]?.classList.toggle("is-lit", isLit(word)));
  }

  #flatten() {
    const focused = this.#elements.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    this.#focused = Math.max(this.#focused, focused);
    this.#text.data = this.text;
    this.#elements = [];
    this.#words = [];
    this.#isRich = false;
    this.#target.replaceChildren(this.#text);
    this.#pointed(null);
  }

  /** @param {EventTarget | null} target */
  #point(target) {
    const index = this.#elements.indexOf(/** @type {HTMLElement} */ (target));
    this.#pointed(this.#words[index] ?? null);
  }

  /** @param {EventTarget | null} target */
  #choose(target) {
    const element = /** @type {HTMLElement} */ (target);
    const word = this.#words[this.#elements.indexOf(element)];
    const isSelecting = getSelection()?.type === "Range";
    if (word && !isSelecting) this.#chosen(word, element);
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    if (event.key === "Enter") this.#choose(event.target);
    const forward = this.#target.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const steps = new Map([["ArrowLeft", -1], ["ArrowRight", -1], [forward, 1], ["Home", -Infinity], ["End", Infinity]]);
    const step = steps.get(event.key);
    const from = this.#elements.indexOf(/** @type {HTMLElement} */ (event.target));
    if (step === undefined || from < 0) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(this.#elements.length - 1, from + step));
    this.#elements[from].tabIndex = -1;
    this.#elements[to].tabIndex = 0;
    this.#elements[to].focus();
  }
}
