// The shown translation: what the server streams and answers goes into the pane and what is around it.

import { byId, make } from "./dom.js";
import { percent, t } from "./i18n.js";
import { AUTO, directionOf, nameOf } from "./languages.js";

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

  /** Nothing comes any more, or not now. */
  stop() {
    this.#parts.pane.busy(false);
  }

  /**
   * Shows one more part.
   * @param {string} text
   * @param {number} segment the number of its sentence
   */
  add(text, segment) {
    const { source, pane, status, announcer } = this.#parts;
    status.clear();
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
    if (fields.source === languages.from) this.showDetected(answer.detectedLanguage ?? null);
    if (fields.source === AUTO && languages.avoidOwn()) return again();
    if (this.isCurrent && !fields.glossary && wanted().glossary) return again();
    this.speak();
    if (rich) announcer.add(pane.plain, 0);
    announcer.end(fields.target);
    byId("copy", HTMLButtonElement).disabled = false;
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
    byId("copy", HTMLButtonElement).disabled = true;
  }

  /** Tells the browser which languages the two texts are in. */
  speak() {
    const { source, pane, languages } = this.#parts;
    const { spoken } = languages;
    source.speak(spoken, spoken ? directionOf(spoken) : "auto");
    const to = this.#shown?.fields.target ?? languages.to;
    pane.speak(to, directionOf(to));
  }

  /** @param {Answer["detectedLanguage"] | null} detected */
  showDetected(detected) {
    const found = detected?.confidence ? detected : null;
    this.#parts.languages.found(found?.language ?? "");
    byId("detected", HTMLElement).textContent = found
      ? t("detected", { language: nameOf(found.language), confidence: percent(found.confidence / 100) })
      : "";
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
    const texts = rich ? alternatives.map((html) => rich.plainOf(html)) : alternatives;
    const others = [...new Set(texts)].filter((text) => text !== this.#parts.pane.plain);
    const isShort = (this.#shown?.fields.q.length ?? 0) <= LONG_TEXT;
    box.hidden = !others.length || !isShort;
    const lang = this.#shown?.fields.target ?? "";
    const items = others.map((text) => make("li", { lang, dir: directionOf(lang) }, text));
    box.querySelector("ul")?.replaceChildren(...(isShort ? items : []));
  }
}
