// What helps to understand a translation: its words light up with their counterparts and say how sure
// the model is, and the panel tells about its sentences.

import { byId } from "../dom.js";
import { percent, t } from "../i18n.js";
import { nameOf } from "../languages.js";
import { SentencePanel } from "./sentences.js";
import { isDoubtful, locate } from "./spans.js";
import { Speech } from "./speech.js";
import { Suggesting } from "./suggesting.js";

/**
 * @typedef {import("./spans.js").Sentence} Sentence
 * @typedef {import("./spans.js").Word} Word
 * @typedef {{
 *   source: string, target: string, from: string, to: string, isFormatted: boolean,
 *   details: import("../messages.js").TextDetail | undefined,
 * }} Explained a translation, the languages of its texts, and what the server says of it
 */

export class Understanding {
  #source;
  #pane;
  #isCurrent;
  #note = byId("word-note", HTMLElement);
  #about = byId("about", HTMLElement);
  #panel = new SentencePanel();
  #suggesting = new Suggesting();
  /** @type {Speech | null} null where the browser cannot speak */
  #speech;
  /** @type {Sentence[]} the sentences whose places in the texts are known */
  sentences = [];

  /**
   * @param {import("../source.js").Source} source
   * @param {import("../pane.js").Pane} pane
   * @param {() => boolean} isCurrent whether the translation is of the text as it is now
   */
  constructor(source, pane, isCurrent) {
    this.#source = source;
    this.#pane = pane;
    this.#isCurrent = isCurrent;
    this.#speech = "speechSynthesis" in window ? new Speech(pane) : null;
  }

  /**
   * Follows a translation, unless the pane shows another by now.
   * @param {Explained} explained
   * @param {boolean} canGoBack whether it can be translated back
   */
  show(explained, canGoBack) {
    const { source, target, from, to, details, isFormatted } = explained;
    if (this.#pane.plain !== target) return;
    this.#speech?.offer(to);
    this.#suggesting.follow(explained);
    const via = details?.pivot;
    this.sentences = details ? locate(via ? via.text : source, target, details.sentences, to) : [];
    const words = this.sentences.flatMap((sentence) => sentence.words);
    if (via) for (const word of words) word.links = [];
    const told = via ? t("pivot", { language: nameOf(via.language), text: via.text }) : "";
    this.#annotate(isFormatted ? [] : words, from === to ? t("sameLanguage", { language: nameOf(to) }) : told);
    this.#panel.show({ ...explained, sentences: this.sentences }, canGoBack);
  }

  clear() {
    this.sentences = [];
    this.#speech?.offer("");
    this.#suggesting.follow(null);
    this.#annotate([], "");
    this.#panel.show(null, false);
  }

  /** @param {Word | null} word of the translation that is pointed at */
  lightFromTarget(word) {
    this.#source.light(word && this.#isCurrent() ? word.links : []);
    this.#pane.light((other) => other === word);
    this.#note.textContent = word ? this.#describe(word) : "";
  }

  /** @param {number | null} at the caret's place in the source */
  lightFromSource(at) {
    const place = at !== null && this.#isCurrent() ? at : -1;
    this.#pane.light((word) => word.links.some(({ start, end }) => start <= place && place < end));
  }

  /**
   * @param {Word[]} words
   * @param {string} told while no word is pointed at
   */
  #annotate(words, told) {
    this.#note.textContent = "";
    this.#about.textContent = told;
    this.#pane.annotate(words, isDoubtful);
  }

  /** @param {Word} word */
  #describe(word) {
    const parts = [];
    if (word.share !== null) {
      const told = { word: this.#pane.text.slice(word.start, word.end), share: percent(word.share) };
      if (word.isCalibrated) parts.push(t(isDoubtful(word) ? "wordDoubtful" : "wordSure", told));
      else parts.push(t(isDoubtful(word) ? "wordUnlikely" : "wordLikely", told));
    }
    const counterparts = word.links.map(({ start, end }) => this.#source.text.slice(start, end));
    if (counterparts.length) parts.push(t("counterpart", { words: counterparts.join(", ") }));
    return parts.join(" ");
  }
}
