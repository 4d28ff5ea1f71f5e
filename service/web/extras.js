// Wires the parts of the page that are loaded when they are first wanted.

import { onRefusedKey, setKey } from "./api.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { PartMissing, part } from "./lazy.js";

/**
 * @typedef {import("./spans.js").Sentence} Sentence
 * @typedef {import("./spans.js").Word} Word
 * @typedef {{
 *   source: import("./source.js").Source,
 *   status: import("./status.js").Status,
 *   pair(): {from: string, to: string},
 *   hop(): {from: string, to: string},
 *   sentence(word: Word): {sentence: Sentence, index: number} | null,
 *   sentences(): Sentence[],
 *   begin(index: number, text: string): void,
 *   change(): void,
 *   translate(): void,
 * }} Page
 *   pair: the chosen languages; hop: those between which the sentences are translated, which a pivot changes
 */

const FORMATTED = /<(b|strong|i|em|u|s|a|h[1-6]|ul|ol|li|table|sub|sup|code|pre|blockquote)[\s>]/i;
const MOST_FORMATTED = 200_000;

export class Extras {
  #page;
  #engine = part(async () => new (await import("./parts/engine.js")).EnginePanel());
  #glossary;
  #files;
  #next;
  #study;
  #rich = part(() => import("./parts/rich.js"));
  #hasNext = true;

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    this.#glossary = part(async () => new (await import("./parts/glossary_editor.js")).GlossaryEditor(page));
    this.#files = part(async () => new (await import("./parts/files.js")).Files(page));
    this.#next = part(async () => new (await import("./parts/next_words.js")).NextWords(page));
    this.#study = part(async () => new (await import("./parts/study.js")).Study(page));
    this.#wirePaste();
    this.#wireFiles();
    this.#wireKey();
  }

  /**
   * Shows the panel with this name, if it is one of these.
   * @param {string} name
   */
  async open(name) {
    await this.#try(async () => {
      const isEngine = name === "engine";
      if (isEngine || this.#wasEngine) (await this.#engine()).open(isEngine);
      this.#wasEngine = isEngine;
      if (name === "glossary") (await this.#glossary()).show();
      if (name === "model" || this.#wasStudy) (await this.#study()).open(name === "model");
      this.#wasStudy = name === "model";
    });
  }

  #wasEngine = false;
  #wasStudy = false;

  /** Follows a new translation or pair of languages. */
  async follow() {
    if (this.#wasStudy) await this.#try(async () => (await this.#study()).follow());
    if (!byId("panel-glossary", HTMLElement).hidden) await this.open("glossary");
  }

  /**
   * Offers other words in place of one.
   * @param {Word} word
   * @param {HTMLElement} element
   */
  async offer(word, element) {
    if (!this.#hasNext) return;
    await this.#try(async () => {
      this.#hasNext = await (await this.#next()).open(word, element);
      document.body.classList.toggle("has-no-next", !this.#hasNext);
    });
  }

  /** @param {() => Promise<void>} act */
  async #try(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof PartMissing)) throw error;
      this.#page.status.tellBriefly(t("partMissing"));
    }
  }

  #wirePaste() {
    const { source } = this.#page;
    byId("source", HTMLElement).addEventListener("paste", (event) => {
      const html = event.clipboardData?.getData("text/html") ?? "";
      const isEmpty = !source.text.trim();
      if (!isEmpty || !FORMATTED.test(html) || html.length > MOST_FORMATTED) return;
      event.preventDefault();
      void this.formatted(html);
    });
  }

  /**
   * Puts formatted text into the source.
   * @param {string} html
   */
  async formatted(html) {
    const { source, change } = this.#page;
    await this.#try(async () => {
      const { RichText } = await this.#rich();
      const leave = (/** @type {string} */ plain) => {
        source.text = plain;
        change();
        source.focus();
      };
      source.showRich(new RichText(html, change, leave));
      change();
      source.focus();
    });
  }

  #wireFiles() {
    const card = byId("card", HTMLElement), picker = byId("file", HTMLInputElement);
    const take = (/** @type {FileList | null | undefined} */ chosen) => {
      const files = [...(chosen ?? [])];
      if (files.length) void this.#try(async () => (await this.#files()).take(files));
    };
    byId("choose-file", HTMLButtonElement).addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      take(picker.files);
      picker.value = "";
    });
    const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
    for (const kind of /** @type {const} */ (["dragover", "dragleave", "drop"])) {
      card.addEventListener(kind, (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        card.classList.toggle("is-over", kind === "dragover");
        if (kind === "drop") take(event.dataTransfer?.files);
      });
    }
  }

  #wireKey() {
    const form = byId("key", HTMLFormElement), field = byId("key-field", HTMLInputElement);
    onRefusedKey((code) => {
      form.hidden = false;
      byId("key-note", HTMLElement).textContent = t(code === "invalid_key" ? "keyInvalid" : "keyNeeded");
      this.#page.status.clear();
      field.setAttribute("aria-invalid", String(code === "invalid_key"));
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
