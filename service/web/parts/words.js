// Words of the shown translation: their counterparts light up, and the line below says how sure they are.

import { byId } from "../dom.js";
import { percent, t } from "../i18n.js";
import { nameOf } from "../languages.js";
import { isDoubtful } from "./spans.js";

/**
 * @typedef {import("./spans.js").Word} Word
 * @typedef {import("../messages.js").TextDetail} TextDetail
 */

export class Words {
  #source;
  #pane;
  #isCurrent;
  #note = byId("word-note", HTMLElement);
  /** @type {TextDetail["pivot"]} */
  #pivot;

  /**
   * @param {import("../source.js").Source} source
   * @param {import("../pane.js").Pane} pane
   * @param {() => boolean} isCurrent whether the translation is of the text as it is now
   */
  constructor(source, pane, isCurrent) {
    this.#source = source;
    this.#pane = pane;
    this.#isCurrent = isCurrent;
  }

  /**
   * Follows a new translation.
   * @param {Word[]} words
   * @param {TextDetail["pivot"]} pivot
   */
  show(words, pivot) {
    this.#pivot = pivot;
    this.#pane.annotate(words, isDoubtful);
    this.#tell(null);
  }

  /** @param {Word | null} word of the translation that is pointed at */
  lightFromTarget(word) {
    this.#source.light(word && this.#isCurrent() ? word.links : []);
    this.#pane.light((other) => other === word);
    this.#tell(word);
  }

  /** @param {number | null} at the caret's place in the source */
  lightFromSource(at) {
    const place = at !== null && this.#isCurrent() ? at : -1;
    this.#pane.light((word) => word.links.some(({ start, end }) => start <= place && place < end));
  }

  /** @param {Word | null} word */
  #tell(word) {
    const pivot = this.#pivot;
    if (word) this.#note.textContent = this.#about(word);
    else this.#note.textContent = pivot ? t("pivot", { language: nameOf(pivot.language), text: pivot.text }) : "";
  }

  /** @param {Word} word */
  #about(word) {
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
