// The languages of the server, their names in the language of the page, and their directions.

import { byId, make } from "./dom.js";
import { locale, t } from "./i18n.js";

/** @typedef {{code: string, name: string, targets: string[]}} Language */

export const AUTO = "auto";
const RIGHT_TO_LEFT = new Set(["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"]);
const RIGHT_TO_LEFT_SCRIPTS = new Set(["Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"]);

/**
 * "rtl" or "ltr".
 * @param {string} code
 */
export function directionOf(code) {
  try {
    const { language, script } = new Intl.Locale(code);
    if (script) return RIGHT_TO_LEFT_SCRIPTS.has(script) ? "rtl" : "ltr";
    return RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr";
  } catch {
    return "ltr";
  }
}

/**
 * The language's name in the language of the page.
 * @param {string} code
 * @param {string} [otherwise]
 */
export function nameOf(code, otherwise = code) {
  try {
    const name = new Intl.DisplayNames([locale()], { type: "language", fallback: "none" }).of(code);
    return name ? name[0].toLocaleUpperCase(locale()) + name.slice(1) : otherwise;
  } catch {
    return otherwise;
  }
}

/** The two menus. */
export class Languages {
  #from = byId("from", HTMLSelectElement);
  #to = byId("to", HTMLSelectElement);
  #swap = byId("swap", HTMLButtonElement);
  /** @type {Language[]} */
  #all = [];
  /** What `auto` found last. */
  detected = "";
  /** Whether people have chosen the target. */
  #isChosen = false;

  /** @param {() => void} changed */
  constructor(changed) {
    for (const menu of [this.#from, this.#to]) {
      menu.addEventListener("change", () => {
        this.#isChosen ||= menu === this.#to;
        this.#update();
        changed();
      });
    }
  }

  get from() {
    return this.#from.value || AUTO;
  }

  get to() {
    return this.#to.value;
  }

  /** The language of the source text, as far as it is known. */
  get spoken() {
    return this.from === AUTO ? this.detected : this.from;
  }

  /** Whether what is translated can be translated back. */
  get canSwap() {
    return this.#targetsOf(this.to).includes(this.spoken);
  }

  /**
   * Fills the menus; keeps the wanted languages if the server has them.
   * @param {Language[]} all
   * @param {string} from
   * @param {string} to
   * @param {boolean} isChosen whether people have chosen the target
   */
  fill(all, from, to, isChosen) {
    this.#isChosen = isChosen;
    this.#all = all.filter((language) => language.targets.length);
    const sources = this.#all.map((l) => make("option", { value: l.code }, nameOf(l.code, l.name)));
    this.#from.replaceChildren(make("option", { value: AUTO }, t("detect")), ...sources);
    this.#from.value = this.#all.some((l) => l.code === from) ? from : AUTO;
    this.#to.replaceChildren(make("option", { value: to }, to));
    this.#update();
  }

  /**
   * Sets both languages.
   * @param {string} from
   * @param {string} to
   */
  choose(from, to) {
    this.detected = "";
    this.fill(this.#all, from, to, true);
  }

  /**
   * Notes what `auto` found.
   * @param {string} code
   */
  found(code) {
    this.detected = code;
    this.#swap.disabled = !this.canSwap;
  }

  /**
   * Takes another target than the text's own language, unless people chose it. Returns whether it
   * did.
   */
  avoidOwn() {
    const other = this.#targetsOf(this.detected)[0];
    if (this.#isChosen || this.detected !== this.to || !other) return false;
    this.#to.value = other;
    return this.to === other;
  }

  #update() {
    const names = new Map(this.#all.map((l) => [l.code, l.name]));
    const wanted = this.to;
    const targets = this.#targetsOf(this.from);
    const options = targets.map((c) => make("option", { value: c }, nameOf(c, names.get(c))));
    this.#to.replaceChildren(...options);
    this.#to.value = targets.includes(wanted) ? wanted : (targets[0] ?? "");
    this.#swap.disabled = !this.canSwap;
  }

  /** @param {string} code */
  #targetsOf(code) {
    const sources = this.#all.filter((l) => code === AUTO || l.code === code);
    return [...new Set(sources.flatMap((l) => l.targets))];
  }
}
