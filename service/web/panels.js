// The panels below the tabs. Their parts are loaded when they are first wanted.

import { part, whenLoaded } from "./lazy.js";

/**
 * @typedef {import("./parts/history.js").Entry} Entry
 * @typedef {import("./parts/understanding.js").Explained} Explained
 * @typedef {{
 *   page: import("./page.js").Page,
 *   pane: import("./pane.js").Pane,
 *   options: import("./options.js").Options,
 *   wanted(): import("./messages.js").Fields,
 *   openAgain(entry: Entry): void,
 *   canSwap(): boolean,
 *   isCurrent(): boolean,
 * }} Parts
 *   wanted: the fields of a request now; openAgain: called with an entry of the history; canSwap:
 *   whether the translation can be translated back; isCurrent: whether it is of the text as it is now
 */

export class Panels {
  #parts;
  #open = "";
  #understanding;
  /** @type {import("./parts/understanding.js").Understanding | null} once it is loaded */
  #understood = null;
  #engine = part(async () => new (await import("./parts/engine.js")).EnginePanel());
  #request;
  #history;
  #options;
  #glossary;
  #study;

  /** @param {Parts} parts */
  constructor(parts) {
    const { page, options, wanted, openAgain } = (this.#parts = parts);
    const tell = (/** @type {string} */ text) => page.status.tellBriefly(text);
    this.#understanding = part(async () => {
      const { Understanding } = await import("./parts/understanding.js");
      return (this.#understood = new Understanding(page.source, parts.pane, parts.isCurrent));
    });
    this.#request = part(async () => new (await import("./parts/request.js")).RequestPanel(wanted, tell));
    this.#history = part(async () => new (await import("./parts/history.js")).History(openAgain));
    this.#options = part(async () => new (await import("./parts/options_form.js")).OptionsForm(options));
    this.#glossary = part(async () => new (await import("./parts/glossary_editor.js")).GlossaryEditor(page));
    this.#study = part(async () => new (await import("./parts/study.js")).Study(page));
  }

  /**
   * Shows the panel with this name; the one before stops to follow.
   * @param {string} name
   */
  open(name) {
    const before = this.#open;
    this.#open = name;
    if (before === "engine" && name !== before) this.#when(this.#engine, (panel) => panel.open(false));
    if (before === "model" && name !== before) this.#when(this.#study, (panel) => panel.open(false));
    if (name === "engine") this.#when(this.#engine, (panel) => panel.open(this.#open === name));
    if (name === "model") this.#when(this.#study, (panel) => panel.open(this.#open === name));
    if (name === "glossary") this.#when(this.#glossary, (panel) => panel.show());
    if (name === "history") this.#show(this.#history);
    if (name === "options") this.#show(this.#options);
    if (name === "request") this.#show(this.#request);
  }

  /**
   * Shows a panel whose contents came with its part; they are hidden until the part has wired them.
   * @param {() => Promise<{show(): void}>} load
   */
  #show(load) {
    const name = this.#open;
    this.#when(load, (panel) => {
      panel.show();
      document.querySelector(`[data-panel=${name}]`)?.removeAttribute("hidden");
    });
  }

  /** Shows the open panel again, in another language of the page. */
  refresh() {
    this.open(this.#open);
  }

  /** What would be asked now has changed. */
  changed() {
    if (this.#open === "request") this.open("request");
  }

  /** The sentences of the translation whose places in the texts are known. */
  get sentences() {
    return this.#understood?.sentences ?? [];
  }

  /** What lights up the words, once it is loaded. */
  get understood() {
    return this.#understood;
  }

  /**
   * Tells about a new translation, or that there is none.
   * @param {Explained | null} explained
   */
  explain(explained) {
    if (!explained) return this.#understood?.clear();
    this.#when(this.#understanding, (own) => {
      own.show(explained, this.#parts.canSwap());
      if (this.#open === "model") this.#when(this.#study, (panel) => panel.follow());
    });
    if (this.#open === "glossary") this.open("glossary");
  }

  /** @param {Entry} entry for the history */
  remember(entry) {
    this.#when(this.#history, (own) => own.add(entry));
  }

  /**
   * @template T
   * @param {() => Promise<T>} load
   * @param {(part: T) => void} act
   */
  #when(load, act) {
    void whenLoaded(load, act, this.#parts.page.status);
  }
}
