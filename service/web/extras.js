// What the panes do beyond plain text: formatted text, files, other words, the API key.

import { onRefusedKey, setKey } from "./api.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { part, whenLoaded } from "./lazy.js";
import { load } from "./storage.js";

/**
 * @typedef {import("./parts/spans.js").Word} Word
 * @typedef {import("./page.js").Page} Page
 */

const FORMATTED = /<(b|strong|i|em|u|s|a|h[1-6]|ul|ol|li|table|sub|sup|code|pre|blockquote)[\s>]/i;
const MOST_FORMATTED = 200_000;

export class Extras {
  #page;
  #files;
  #next;
  #rich = part(() => import("./parts/rich.js"));
  #hasNext = true;

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    this.#files = part(async () => new (await import("./parts/files.js")).Files(page));
    this.#next = part(async () => new (await import("./parts/next_words.js")).NextWords(page));
    this.#wirePaste();
    this.#wireFiles();
    this.#wireKey();
  }

  /**
   * Offers other words in place of one.
   * @param {Word} word
   * @param {HTMLElement} element
   */
  async offer(word, element) {
    if (!this.#hasNext) return;
    await whenLoaded(this.#next, async (next) => {
      this.#hasNext = await next.open(word, element);
      document.body.classList.toggle("has-no-next", !this.#hasNext);
    }, this.#page.status);
  }

  #wirePaste() {
    const field = byId("source", HTMLTextAreaElement);
    field.addEventListener("paste", (event) => {
      const html = event.clipboardData?.getData("text/html") ?? "";
      const { value, selectionStart, selectionEnd } = field;
      const rest = value.slice(0, selectionStart) + value.slice(selectionEnd);
      if (rest.trim() || !FORMATTED.test(html) || html.length > MOST_FORMATTED) return;
      event.preventDefault();
      void this.formatted(html);
    });
  }

  /** Puts formatted text into the source. @param {string} html */
  async formatted(html) {
    const { source, change, status } = this.#page;
    await whenLoaded(this.#rich, ({ RichText }) => {
      const leave = (/** @type {string} */ plain) => {
        source.text = plain;
        change();
        source.focus();
      };
      source.showRich(new RichText(html, change, leave));
      change();
      source.focus();
    }, status);
  }

  #wireFiles() {
    const card = byId("card", HTMLElement), picker = byId("file", HTMLInputElement);
    const take = (/** @type {Iterable<File> | null} */ chosen) => {
      const files = [...(chosen ?? [])];
      void whenLoaded(this.#files, (own) => own.take(files), this.#page.status);
    };
    if (load("files", null, "sessionStorage")) take([]); // before a reload
    byId("choose-file", HTMLElement).addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      take(picker.files);
      picker.value = "";
    });
    for (const kind of /** @type {const} */ (["dragover", "dragleave", "drop"])) {
      document.addEventListener(kind, (event) => { // a browser would open them
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        card.classList.toggle("is-over", kind === "dragover");
        if (kind === "drop") take(event.dataTransfer.files);
      });
    }
  }

  #wireKey() {
    const form = byId("key", HTMLFormElement), field = byId("key-field", HTMLInputElement);
    onRefusedKey((code) => {
      const isWrong = code === "invalid_key";
      form.hidden = false;
      byId("key-note", HTMLElement).textContent = t(isWrong ? "keyInvalid" : "keyNeeded");
      this.#page.status.clear();
      field.setAttribute("aria-invalid", String(isWrong));
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      setKey(field.value.trim());
      form.hidden = true;
      this.#page.source.focus();
      this.#page.translate();
    });
  }
}
