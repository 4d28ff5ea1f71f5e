// The languages of the server, their names in the language of the page, and their directions.

import { byId, make } from "./dom.js";
import { locale, t } from "./i18n.js";

/** @typedef {{code: string, name: string, targets: string[]}} Language */

export const AUTO = "auto";
/** More are searched, not looked through. */
export const MOST_IN_MENU = 20;
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

/** The code for DE, de-AT, deu or zh-TW; "" for none. */
export function codeAmong(/** @type {string[]} */ codes, written = "") {
  const like = [written];
  try {
    const { language, script } = new Intl.Locale(written.replace("_", "-")).maximize();
    like.push(`${language}-${script}`, language);
  } catch { /* no code */ }
  return like.map((one) => codes.find((code) => code.toLowerCase() === one.toLowerCase())).find(Boolean) ?? "";
}

const SURE_PERCENT = 96;
const TELLING = /\p{L}{4}|(?!\p{Script=Latin})\p{L}/u; // less is written alike in many languages

/** The two menus. */
export class Languages {
  #from = byId("from", HTMLSelectElement);
  #to = byId("to", HTMLSelectElement);
  #swap = byId("swap", HTMLButtonElement);
  /** @type {Language[]} */
  #all = [];
  /** What `auto` found last. */
  detected = "";
  /** What `auto` found last and was sure of. */
  #own = "";
  /** The target that people chose, or the language of the page. */
  #wanted = "";
  #isChosen = false;
  /** `spoken` before the last choice. */
  #before = "";

  /** @param {() => void} changed */
  constructor(changed) {
    for (const menu of [this.#from, this.#to]) {
      menu.addEventListener("change", () => {
        if (menu === this.#to) [this.#wanted, this.#isChosen] = [this.to, true];
        else if (this.from === this.to && this.#before) [this.#wanted, this.#isChosen] = [this.#before, true];
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

  /** The target that people chose; "" if they did not. */
  get chosen() {
    return this.#isChosen ? this.#wanted : "";
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
   * Fills the menus; keeps wanted languages that the server has.
   * @param {Language[]} all
   * @param {string} from
   * @param {string} chosen the target, if people chose it
   */
  fill(all, from, chosen) {
    [this.#wanted, this.#isChosen] = [chosen || locale(), Boolean(chosen)];
    this.#all = all.filter((language) => language.targets.length);
    const sources = this.#all.map((l) => make("option", { value: l.code }, nameOf(l.code, l.name)));
    this.#from.replaceChildren(make("option", { value: AUTO }, t("detect")), ...sources);
    this.#from.value = this.#all.some((l) => l.code === from) ? from : AUTO;
    this.#update();
  }

  /** Sets both. @param {string} from @param {string} chosen as of `fill` */
  choose(from, chosen) {
    this.detected = this.#own = "";
    this.fill(this.#all, from, chosen);
  }

  /**
   * Notes what `auto` found in a text; returns whether that changes the target. A guess from a few
   * letters does not.
   * @param {string} code "" if there is no text
   * @param {number} [percent] how sure the server is
   * @param {string} [text]
   */
  found(code, percent = 0, text = "") {
    const before = this.to;
    this.detected = code;
    if (!code || (percent >= SURE_PERCENT && TELLING.test(text))) this.#own = code;
    this.#settle();
    return this.to !== before;
  }

  /**
   * The target for a text that is in the wanted language already; "" if people chose that.
   * @param {string} own
   */
  insteadOf(own) {
    const others = this.#isChosen ? [] : this.#targetsOf(own);
    return others.includes("en") ? "en" : (others[0] ?? "");
  }

  #update() {
    const names = new Map(this.#all.map((l) => [l.code, l.name]));
    const options = this.#targetsOf(this.from).map((c) => make("option", { value: c }, nameOf(c, names.get(c))));
    this.#to.replaceChildren(...options);
    this.#settle();
  }

  /** Takes the wanted target if the text is in another language, and without it a near one. */
  #settle() {
    const targets = this.#targetsOf(this.from), own = this.from === AUTO ? this.#own : this.from;
    const other = own === this.#wanted ? this.insteadOf(own) : "";
    const [near] = ["en", ...targets].filter((code) => targets.includes(code));
    this.#to.value = other || (targets.includes(this.#wanted) ? this.#wanted : (near ?? ""));
    this.#swap.disabled = !this.canSwap;
    this.#before = this.spoken;
    for (const menu of [this.#from, this.#to]) menu.dispatchEvent(new Event("settle")); // for a search in its place
  }

  /** @param {string} code */
  #targetsOf(code) {
    const sources = this.#all.filter((l) => code === AUTO || l.code === code);
    return [...new Set(sources.flatMap((l) => l.targets))];
  }
}
