// The texts of the page in the reader's language.

import { reach } from "./api.js";
import { load, save } from "./storage.js";

/** @typedef {typeof import("./texts/en.js").default} Texts */
/** @typedef {typeof import("./texts/parts/en.js").default} PartTexts */
/** @typedef {keyof Texts | keyof PartTexts} Key */

/** @type {Record<string, () => Promise<{default: Texts}>>} */
const TEXTS = {
  en: () => import("./texts/en.js"),
  de: () => import("./texts/de.js"),
  zh: () => import("./texts/zh.js"),
};
/** @type {Record<string, () => Promise<{default: PartTexts}>>} of the parts that are loaded later */
const PART_TEXTS = {
  en: () => import("./texts/parts/en.js"),
  de: () => import("./texts/parts/de.js"),
  zh: () => import("./texts/parts/zh.js"),
};
export const NAMES = { en: "English", de: "Deutsch", zh: "中文" };
let current = choose();
/** @type {Record<string, string>} */
let texts = (await TEXTS[current]()).default;

function choose() {
  const wanted = [load("interface", ""), ...navigator.languages].map((l) => String(l).split("-")[0]);
  return wanted.find((language) => Object.hasOwn(TEXTS, language)) ?? "en";
}

/** The language of the page: en, de or zh. */
export function locale() {
  return current;
}

/**
 * Changes the language of the page; throws if its texts cannot be loaded.
 * @param {string} language
 */
export async function setLocale(language) {
  await reach();
  save("interface", language);
  const chosen = choose();
  const [own, parts] = await Promise.all([TEXTS[chosen](), PART_TEXTS[chosen]()]);
  texts = { ...own.default, ...parts.default }; // at once: what is drawn in between needs every text
  current = chosen;
}

/** Adds the texts of the parts that are loaded later. */
export async function loadPartTexts() {
  const found = (await PART_TEXTS[current]()).default;
  texts = { ...found, ...texts }; // a language that was chosen meanwhile stays
}

/**
 * The text for a key, with its {names} filled in.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/**
 * A number as the reader writes it.
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 */
export function number(value, options) {
  return new Intl.NumberFormat(current, options).format(value);
}

/**
 * A share as whole percents.
 * @param {number} share
 */
export function percent(share) {
  return number(share, { style: "percent", maximumFractionDigits: 0 });
}

/** Fills the texts of index.html: data-t is the content, data-t-label and -placeholder attributes. */
export function fillTexts() {
  document.documentElement.lang = current === "zh" ? "zh-Hans" : current;
  for (const [name, attribute] of [["t", ""], ["t-label", "aria-label"], ["t-placeholder", "placeholder"]]) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) {
      const text = t(/** @type {Key} */ (element.getAttribute(`data-${name}`)));
      if (attribute) element.setAttribute(attribute, text);
      else element.textContent = text;
    }
  }
}
