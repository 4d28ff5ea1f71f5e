// Terms and their translations, kept by this browser for each pair of languages.

import { load } from "./storage.js";

/** @typedef {{source: string, target: string}} Term */

export const NAME = "glossaries";
export const MOST_TERMS = 200;

/** @returns {Record<string, unknown>} */
export function all() {
  const kept = load(NAME, {});
  return kept && typeof kept === "object" ? /** @type {Record<string, unknown>} */ (kept) : {};
}

/**
 * @param {string} from
 * @param {string} to
 * @returns {Term[]}
 */
export function termsOf(from, to) {
  const kept = all()[`${from} ${to}`];
  if (!Array.isArray(kept)) return [];
  const terms = kept.filter((t) => typeof t?.source === "string" && typeof t?.target === "string");
  return terms.slice(0, MOST_TERMS).map(({ source, target }) => ({ source, target }));
}

/**
 * The field of a request: terms with both sides, each source once.
 * @param {string} from
 * @param {string} to
 * @returns {{glossary?: Term[]}}
 */
export function glossaryField(from, to) {
  const trimmed = termsOf(from, to).map((t) => ({ source: t.source.trim(), target: t.target.trim() }));
  const whole = trimmed.filter(({ source, target }) => source && target);
  const glossary = [...new Map(whole.map((term) => [term.source, term])).values()];
  return glossary.length ? { glossary } : {};
}
