// The pane of the source: a text field that grows with its text, over a copy that can be lit up.

import { byId, make } from "./dom.js";

/** @typedef {import("./parts/spans.js").Span} Span */

export class Source {
  #field = byId("source", HTMLTextAreaElement);
  #mirror = byId("mirror", HTMLElement);
  #pointed;
  /** @type {import("./parts/rich.js").RichText | null} the text with its formatting, if it has any */
  #rich = null;

  /**
   * @param {(isComposing: boolean) => void} changed
   * @param {(at: number | null) => void} pointed called with the place of the caret when it is moved
   */
  constructor(changed, pointed) {
    this.#pointed = pointed;
    this.#field.addEventListener("input", (event) => {
      this.#reflect([]);
      changed(/** @type {InputEvent} */ (event).isComposing);
    });
    this.#field.addEventListener("compositionend", () => changed(false));
    for (const kind of ["pointerup", "keyup"]) {
      this.#field.addEventListener(kind, (event) => this.#moved(event));
    }
    this.#field.addEventListener("blur", () => this.#pointed(null));
  }

  get text() {
    return this.#rich ? this.#rich.plain : this.#field.value;
  }

  /** Leaves the formatting. @param {string} text */
  set text(text) {
    this.#rich?.close();
    this.#rich = null;
    this.#field.value = text;
    this.#reflect([]);
  }

  /** The text with its formatting; null: it has none. */
  get rich() {
    return this.#rich;
  }

  /** @param {import("./parts/rich.js").RichText} rich shown in place of the field */
  showRich(rich) {
    this.#field.value = "";
    this.#reflect([]);
    this.#rich = rich;
  }

  /** The fields of a request. @returns {{q: string, format?: "html"}} */
  get fields() {
    return this.#rich ? { q: this.#rich.html, format: "html" } : { q: this.#field.value };
  }

  /** Code points, as the server counts. */
  get length() {
    return countCodePoints(this.fields.q);
  }

  focus() {
    if (this.#rich) this.#rich.focus();
    else this.#field.focus();
  }

  /**
   * @param {string} language
   * @param {"ltr" | "rtl" | "auto"} direction
   */
  speak(language, direction) {
    this.#field.lang = language;
    this.#field.dir = this.#mirror.dir = direction;
  }

  /**
   * Lights up parts of the text.
   * @param {Span[]} spans
   */
  light(spans) {
    this.#reflect(spans);
  }

  /** @param {Event} event */
  #moved(event) {
    const isArrow = event instanceof KeyboardEvent && /^(Arrow|Home|End|Page)/.test(event.key);
    if (event instanceof KeyboardEvent && !isArrow) return;
    this.#pointed(this.#field.selectionStart);
  }

  /**
   * The copy has the size of the text, which makes the field as high as its text.
   * @param {Span[]} spans
   */
  #reflect(spans) {
    const text = this.text;
    /** @type {(Node | string)[]} */
    const parts = [];
    let at = 0;
    for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
      if (start < at || end > text.length) continue;
      parts.push(text.slice(at, start), make("mark", {}, text.slice(start, end)));
      at = end;
    }
    this.#mirror.replaceChildren(...parts, `${text.slice(at)}\n`);
  }
}

/** @param {string} text */
function countCodePoints(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
