// What helps to understand a translation: its words light up with their counterparts and say how sure
// the model is, and the panel tells about its sentences.

import { SentencePanel } from "./sentences.js";
import { locate } from "./spans.js";
import { Words } from "./words.js";

/**
 * @typedef {import("./spans.js").Sentence} Sentence
 * @typedef {{
 *   source: string, target: string, from: string, to: string, isFormatted: boolean,
 *   details: import("../messages.js").TextDetail | undefined,
 * }} Explained a translation, the languages of its texts, and what the server says of it
 */

export class Understanding {
  #pane;
  #panel = new SentencePanel();
  words;
  /** @type {Sentence[]} the sentences whose places in the texts are known */
  sentences = [];

  /**
   * @param {import("../source.js").Source} source
   * @param {import("../pane.js").Pane} pane
   * @param {() => boolean} isCurrent whether the translation is of the text as it is now
   */
  constructor(source, pane, isCurrent) {
    this.#pane = pane;
    this.words = new Words(source, pane, isCurrent);
  }

  /**
   * Follows a translation, unless the pane shows another by now.
   * @param {Explained} explained
   * @param {boolean} canGoBack whether it can be translated back
   */
  show(explained, canGoBack) {
    const { source, target, to, details, isFormatted } = explained;
    if (this.#pane.plain !== target) return;
    const via = details?.pivot;
    this.sentences = details ? locate(via ? via.text : source, target, details.sentences, to) : [];
    const words = this.sentences.flatMap((sentence) => sentence.words);
    if (via) for (const word of words) word.links = [];
    this.words.show(isFormatted ? [] : words, via);
    this.#panel.show({ ...explained, sentences: this.sentences }, canGoBack);
  }

  clear() {
    this.sentences = [];
    this.words.show([], undefined);
    this.#panel.show(null, false);
  }
}
