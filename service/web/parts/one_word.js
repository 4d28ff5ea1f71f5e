// The likeliest translations of a single word with their probabilities, as a dictionary shows them.

import { post } from "../api.js";
import { make } from "../dom.js";
import { t } from "../i18n.js";
import { directionOf } from "../languages.js";
import { distinct, isWord, share } from "./next_words.js";

const COUNT = 8;
const LEAST_PROBABILITY = 0.005;
const ONE_WORD = /^(\p{Script=Han}{1,4}|[\p{L}\p{M}]+(['’-][\p{L}\p{M}]+)*)$/u;

/** @param {string} text */
export function isOneWord(text) {
  return ONE_WORD.test(text.trim());
}

/**
 * The translations as a card; null without a choice.
 * @param {string} q a word
 * @param {string} source
 * @param {string} target
 */
export async function translationsOf(q, source, target) {
  const { words } = await post("translate/next", { q, source, target, k: COUNT });
  const /** @type {import("./next_words.js").NextWord[]} */ likely = words.filter(
    (/** @type {import("./next_words.js").NextWord} */ word) => isWord(word, "") && word.probability >= LEAST_PROBABILITY);
  const items = distinct(likely).map(({ text, translation, probability }) =>
    make("li", {}, make("bdi", { lang: target, dir: directionOf(target) }, translation ?? text.trim()), make("small", {}, share(probability))));
  if (items.length < 2) return null;
  return make("article", { class: "sentence", id: "one-word" }, make("h3", {}, t("oneWord")), make("ul", {}, ...items));
}
