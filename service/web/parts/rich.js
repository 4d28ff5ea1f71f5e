// The source as formatted text, which can be edited; it stands in place of the plain field.

import { byId } from "../dom.js";
import { t } from "../i18n.js";
import { htmlOf, nodesOf, plainOf } from "./html.js";

export class RichText {
  #field = byId("rich", HTMLElement);
  #plain = byId("plain", HTMLButtonElement);
  #closing = new AbortController();

  /**
   * @param {string} html of any origin
   * @param {(isComposing?: boolean) => void} changed
   * @param {(plain: string) => void} left called when the formatting is to go
   */
  constructor(html, changed, left) {
    const field = this.#field, { signal } = this.#closing;
    for (const [name, value] of Object.entries({ contenteditable: "true", role: "textbox", "aria-multiline": "true", "aria-label": t("sourceText"), "data-t-label": "sourceText", "aria-describedby": "count" })) {
      field.setAttribute(name, value);
    }
    this.html = html;
    this.#toggle(true);
    field.addEventListener("input", (event) => changed(/** @type {InputEvent} */ (event).isComposing), { signal });
    field.addEventListener("compositionend", () => changed(), { signal });
    field.addEventListener("paste", (event) => this.#paste(event, changed), { signal });
    field.addEventListener("drop", (event) => event.preventDefault(), { signal });
    this.#plain.addEventListener("click", () => left(this.plain), { signal });
  }

  get html() {
    return htmlOf(this.#field.childNodes);
  }

  /** @param {string} html of any origin */
  set html(html) {
    this.#field.replaceChildren(...nodesOf(html.replace(/^[\s\S]*<!--StartFragment-->|<!--EndFragment-->[\s\S]*$/g, "")));
  }

  get plain() {
    return plainOf(this.#field.childNodes);
  }

  focus() {
    this.#field.focus();
  }

  /** Gives the place back to the plain field. */
  close() {
    this.#closing.abort();
    this.#field.replaceChildren();
    this.#toggle(false);
  }

  /**
   * Safe nodes of a translation.
   * @param {string} html
   */
  nodesOf(html) {
    return nodesOf(html);
  }

  /** @param {string} html */
  plainOf(html) {
    return plainOf(nodesOf(html));
  }

  /**
   * Only the allowed elements of a translation.
   * @param {string} html
   */
  cleaned(html) {
    return htmlOf(nodesOf(html));
  }

  /** @param {boolean} isRich */
  #toggle(isRich) {
    this.#field.hidden = this.#plain.hidden = !isRich;
    byId("source", HTMLTextAreaElement).hidden = byId("mirror", HTMLElement).hidden = isRich;
    document.body.classList.toggle("is-rich", isRich);
  }

  /**
   * @param {ClipboardEvent} event
   * @param {() => void} changed
   */
  #paste(event, changed) {
    event.preventDefault();
    const html = event.clipboardData?.getData("text/html");
    if (!html) return void document.execCommand("insertText", false, event.clipboardData?.getData("text/plain")); // with undo
    const nodes = nodesOf(html);
    const range = getSelection()?.rangeCount ? getSelection()?.getRangeAt(0) : null;
    if (!range || !this.#field.contains(range.commonAncestorContainer)) return;
    range.deleteContents();
    for (const node of nodes.reverse()) range.insertNode(node);
    range.collapse(false);
    changed();
  }
}
