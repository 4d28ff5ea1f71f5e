// The shown translation: what the server streams and answers goes into the pane and what is around it.

import { byId, make } from "./dom.js";
import { percent, t } from "./i18n.js";
import { directionOf, nameOf } from "./languages.js";

/**
 * @typedef {import("./messages.js").Answer} Answer
 * @typedef {import("./messages.js").Fields} Fields
 * @typedef {{
 *   source: import("./source.js").Source,
 *   pane: import("./pane.js").Pane,
 *   languages: import("./languages.js").Languages,
 *   status: import("./status.js").Status,
 *   announcer: import("./status.js").Announcer,
 *   wanted(): Fields,
 *   again(): void,
 *   explain(explained: import("./parts/understanding.js").Explained | null): void,
 *   finished(): void,
 * }} Parts
 *   wanted: the fields of a request now; again: translates; explain: tells about the sentences;
 *   finished: called when a translation is complete
 */

const LONG_TEXT = 400;

export class Translation {
  #parts;
  #streamed = "";
  /** Whether it is of a text that is not the one that stands there now. */
  isStale = false;
  /** @type {{answer: Answer, fields: Fields} | null} */
  #shown = null;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  get answer() {
    return this.#shown?.answer;
  }

  /** The languages that it is of; the first as it was detected. */
  get pair() {
    const { answer, fields } = this.#shown ?? {};
    return { from: answer?.detectedLanguage?.language ?? fields?.source ?? "", to: fields?.target ?? "" };
  }

  /** Everything the server says about its sentences. */
  get details() {
    return this.#shown?.answer.details?.[0];
  }

  get fields() {
    return this.#shown?.fields;
  }

  /** The source with its formatting, if the translation was asked for with it. */
  get rich() {
    return this.#shown?.fields.format ? this.#parts.source.rich : null;
  }

  /** Whether it is of the text as it is now. */
  get isCurrent() {
    return this.#shown?.fields.q === this.#parts.source.fields.q;
  }

  /** A request is on its way. */
  begin() {
    this.#streamed = "";
    this.#parts.announcer.begin();
    this.#parts.pane.busy(true);
  }

  /** Nothing comes any more, or not now, so the shown one is of an older text. */
  stop() {
    this.#parts.pane.busy(false);
    this.#setStale(true);
  }

  /**
   * Shows one more part.
   * @param {string} text
   * @param {number} segment the number of its sentence
   */
  add(text, segment) {
    const { source, pane, status, announcer } = this.#parts;
    status.clear();
    pane.stale(false);
    this.#streamed += text;
    if (source.rich) return pane.showNodes(source.rich.nodesOf(this.#streamed));
    announcer.add(text, segment);
    pane.stream(this.#streamed);
  }

  /**
   * Shows the whole.
   * @param {Answer} answer
   * @param {Fields} fields
   */
  show(answer, fields) {
    const { pane, status, announcer, languages, again, wanted } = this.#parts;
    this.#shown = { answer, fields };
    status.clear();
    const { rich } = this;
    if (rich) pane.showNodes(rich.nodesOf(answer.translatedText));
    else pane.show(answer.translatedText);
    pane.busy(false);
    this.#setStale(false);
    if (fields.source === languages.from && this.showDetected(answer.detectedLanguage ?? null)) return again();
    if (this.isCurrent && !fields.glossary && wanted().glossary) return again();
    this.speak();
    if (rich) announcer.add(pane.plain, 0);
    announcer.end(fields.target);
    this.#showAlternatives(answer.alternatives ?? []);
    this.#explain();
    this.#parts.finished();
  }

  /** Shows it again, in another language of the page. */
  refresh() {
    if (this.#shown) this.show(this.#shown.answer, this.#shown.fields);
  }

  /** Shows nothing. */
  clear() {
    const { pane, explain } = this.#parts;
    this.#shown = null;
    pane.show("");
    pane.busy(false);
    this.showDetected(null);
    this.#showAlternatives([]);
    this.speak();
    explain(null);
    this.#setStale(false);
  }

  /** Tells the browser which languages the two texts are in. */
  speak() {
    const { source, pane, languages } = this.#parts;
    const { spoken } = languages;
    source.speak(spoken, spoken ? directionOf(spoken) : "auto");
    const to = this.#shown?.fields.target ?? languages.to;
    pane.speak(to, directionOf(to));
  }

  /**
   * Shows the detected language; returns whether that changes the target.
   * @param {Answer["detectedLanguage"] | null} detected
   */
  showDetected(detected) {
    const found = detected?.confidence ? detected : null;
    byId("detected", HTMLElement).textContent = found
      ? t("detected", { language: nameOf(found.language), confidence: percent(found.confidence / 100) })
      : "";
    return this.#parts.languages.found(found?.language ?? "", found?.confidence, this.#parts.source.text);
  }

  /** @param {boolean} isStale */
  #setStale(isStale) {
    this.isStale = isStale;
    this.#parts.pane.stale(isStale);
    byId("copy", HTMLButtonElement).disabled = isStale || !this.#shown;
  }

  #explain() {
    const { format, q = "" } = this.#shown?.fields ?? {};
    const isFormatted = Boolean(format);
    const source = isFormatted ? this.#parts.source.text : q, target = this.#parts.pane.plain;
    this.#parts.explain({ source, target, ...this.pair, isFormatted, details: this.details });
  }

  /** @param {string[]} alternatives */
  #showAlternatives(alternatives) {
    const box = byId("alternatives", HTMLElement), { rich } = this;
    const { q = "", target: lang = "" } = this.#shown?.fields ?? {};
    const others = new Map(alternatives.map((text) => [rich ? rich.plainOf(text) : text, text]));
    others.delete(this.#parts.pane.plain);
    const isShort = q.length <= LONG_TEXT;
    const items = [...(isShort ? others : [])].map(([plain, text]) => {
      const button = make("button", { type: "button", lang, dir: directionOf(lang) }, plain);
      button.addEventListener("click", () => this.#take(text));
      return make("li", {}, button);
    });
    box.hidden = !isShort || this.#parts.wanted().alternatives === undefined;
    box.classList.toggle("is-empty", !items.length);
    box.querySelector("ul")?.replaceChildren(...items);
  }

  /** Shows an alternative, and the translation before among the others. @param {string} text */
  #take(text) {
    if (!this.#shown || this.isStale) return;
    const { answer, fields } = this.#shown;
    const others = (answer.alternatives ?? []).filter((other) => other !== text);
    this.show({ ...answer, isTaken: true, translatedText: text, alternatives: [answer.translatedText, ...others] }, fields);
    byId("alternatives", HTMLElement).querySelector("button")?.focus();
  }
}
