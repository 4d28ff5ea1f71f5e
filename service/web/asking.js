// What is asked of the server, and when: soon after each change, once a composed word is chosen, and
// never over the limits.

import { byId, debounced, spaced } from "./dom.js";
import { glossaryField } from "./glossary.js";
import { number, t } from "./i18n.js";
import { AUTO } from "./languages.js";
import { save } from "./storage.js";

/**
 * @typedef {import("./messages.js").Fields} Fields
 * @typedef {{max_characters: number, max_body_bytes: number, max_beam_size: number, direct: [string, string][], save_as: Record<string, string>}} Limits
 *   direct: the pairs that one model has; save_as: for the suffixes of files that are not read
 * @typedef {{
 *   source: import("./source.js").Source,
 *   languages: import("./languages.js").Languages,
 *   options: import("./options.js").Options,
 *   session: import("./session.js").Session,
 *   status: import("./status.js").Status,
 *   translation: import("./translation.js").Translation,
 *   changed(): void,
 * }} Parts
 */

const LONG_TEXT = 400;
const LEAST_PAUSE_MILLISECONDS = 80;
const MOST_PAUSE_MILLISECONDS = 1000;
const CHARACTERS_PER_MILLISECOND = 15;
const COMPOSING_MILLISECONDS = 700;
// A long line that ends within a sentence, as in e-mails.
const WRAPPED = /^.{39,119}[\p{L}\p{N},]\n\p{Ll}|^.{19,59}[\p{Script=Han}，、]\n\p{Script=Han}/mu;
const MESSAGE_BYTES = 2000; // of a request's other fields

export class Asking {
  /** @type {Limits} */
  limits = { max_characters: 20_000, max_body_bytes: 1_048_576, max_beam_size: 16, direct: [], save_as: {} };
  #parts;
  #isComposing = false;
  /** @type {string[]} how the sentences must begin, because someone chose a word there */
  #beginnings = [];
  #ask = spaced(() => this.#isComposing || this.translate(), () => this.#pause);
  // Keyboards of phones compose every word; those of desks only what is not yet chosen.
  #askWhileComposing = debounced(() => {
    if (this.#isComposing && matchMedia("(pointer: coarse)").matches) this.translate();
  }, COMPOSING_MILLISECONDS);

  /** @param {Parts} parts `changed`: called after each change of what would be asked */
  constructor(parts) {
    this.#parts = parts;
  }

  /** The fields of a request. @returns {Fields} */
  get fields() {
    const { source, languages, options } = this.#parts;
    const from = languages.spoken || languages.from, { to } = languages;
    return {
      ...source.fields,
      ...{ source: languages.from, target: to },
      ...options.chosen,
      ...(options.isSampling || !this.takesGlossary(from, to) ? {} : glossaryField(from, to)),
      ...(this.#beginnings.length ? { target_prefix: this.#beginnings } : {}),
    };
  }

  /**
   * Whether a glossary can be used: one model must have the pair.
   * @param {string} from
   * @param {string} to
   */
  takesGlossary(from, to) {
    return this.limits.direct.some((pair) => pair[0] === from && pair[1] === to);
  }

  get #pause() {
    const grown = LEAST_PAUSE_MILLISECONDS + this.#parts.source.text.length / CHARACTERS_PER_MILLISECOND;
    return Math.min(MOST_PAUSE_MILLISECONDS, grown);
  }

  /**
   * Follows a change of the text or the options.
   * @param {boolean} [isComposing] whether an input method still composes a word of it
   */
  change(isComposing = false) {
    this.#isComposing = isComposing;
    this.#beginnings = [];
    this.#count();
    this.#parts.changed();
    if (isComposing) this.#askWhileComposing();
    else this.#ask();
  }

  /** Follows a change of the languages. */
  changeLanguages() {
    const { languages, translation } = this.#parts;
    this.#beginnings = [];
    save("languages", [languages.from, languages.chosen]);
    if (languages.from !== AUTO) translation.showDetected(null);
    translation.speak();
    this.#parts.changed();
    this.translate();
  }

  /**
   * Translates anew with a sentence that begins with this text.
   * @param {number} index of the sentence
   * @param {number} count of sentences
   * @param {string} text
   */
  begin(index, count, text) {
    this.#beginnings = Array.from({ length: count }, (_, i) => (i === index ? text : (this.#beginnings[i] ?? "")));
    this.translate();
  }

  translate() {
    const { session, status, translation } = this.#parts;
    const fields = this.fields;
    if (!fields.q.trim() || !fields.target) {
      session.stop();
      status.clear();
      translation.clear();
    } else if (this.#isTooLong(fields.q)) {
      session.stop();
      translation.stop();
    } else {
      session.ask(fields);
    }
  }

  #count() {
    const { source } = this.#parts, { length } = source, most = this.limits.max_characters;
    const count = byId("count", HTMLElement);
    count.textContent = t("count", { count: number(length), most: number(most) });
    count.classList.toggle("is-over", length > most);
    count.hidden = !length;
    byId("clear", HTMLButtonElement).hidden = !length;
    byId("join", HTMLButtonElement).hidden = Boolean(source.rich) || !WRAPPED.test(source.text);
    byId("share", HTMLButtonElement).disabled = !length;
    document.body.classList.toggle("is-long", length > LONG_TEXT);
  }

  /** @param {string} text */
  #isTooLong(text) {
    const count = this.#parts.source.length, most = this.limits.max_characters;
    const bytes = new TextEncoder().encode(JSON.stringify(text)).length + MESSAGE_BYTES;
    const isOver = count > most, isLarge = bytes > this.limits.max_body_bytes;
    if (isOver) this.#parts.status.tell(t("tooLong", { count: number(count), most: number(most) }));
    else if (isLarge) this.#parts.status.tell(t("tooLarge"));
    return isOver || isLarge;
  }
}
