// Words of a translation: where they stand, how sure the model is, and their counterparts.
// The server counts in code points; JavaScript's strings count in UTF-16 units.

/**
 * @typedef {import("../messages.js").SentenceDetail} SentenceDetail
 * @typedef {{start: number, end: number}} Span in UTF-16 units
 * @typedef {Span & {share: number | null, isCalibrated: boolean, links: Span[]}} Word
 *   share: how often such words agree with a person's translation if the server knows it (then it is
 *   calibrated), or else the probability that the model gives the word
 * @typedef {{source: Span, target: Span, words: Word[], detail: SentenceDetail}} Sentence
 */

const DOUBTFUL_CONFIDENCE = 0.4;
const DOUBTFUL_PROBABILITY = 0.3;
const LEAST_WEIGHT = 0.25; // weaker links are often of words without a counterpart
const SPACE = "▁";

/** @param {Word} word */
export function isDoubtful(word) {
  return word.share !== null && word.share < (word.isCalibrated ? DOUBTFUL_CONFIDENCE : DOUBTFUL_PROBABILITY);
}

/**
 * The position in UTF-16 units of each code point of a text, and of its end.
 * @param {string} text
 */
export function unitsOf(text) {
  const units = [0];
  for (const character of text) units.push(/** @type {number} */ (units.at(-1)) + character.length);
  return units;
}

/**
 * The sentences of a translation with their places in the whole texts; leaves out those that cannot
 * be found there.
 * @param {string} source
 * @param {string} target
 * @param {SentenceDetail[]} details
 * @param {string} language of the translation
 * @returns {Sentence[]}
 */
export function locate(source, target, details, language) {
  const found = [];
  let afterSource = 0, afterTarget = 0;
  for (const detail of details) {
    const inSource = source.indexOf(detail.source, afterSource);
    const inTarget = target.indexOf(detail.target, afterTarget);
    if (inSource < 0 || inTarget < 0 || !detail.target) continue;
    afterSource = inSource + detail.source.length;
    afterTarget = inTarget + detail.target.length;
    found.push({
      source: { start: inSource, end: afterSource },
      target: { start: inTarget, end: afterTarget },
      words: wordsOf(detail, inSource, inTarget, language),
      detail,
    });
  }
  return found;
}

/**
 * @param {SentenceDetail} detail
 * @param {number} inSource
 * @param {number} inTarget
 * @param {string} language
 * @returns {Word[]}
 */
function wordsOf(detail, inSource, inTarget, language) {
  const shares = detail.words ? confidences(detail) : probabilities(detail);
  const links = linksOf(detail);
  return segments(detail.target, language).map(({ start, end }) => {
    const own = shares.filter((s) => s.start < end && s.end > start).map((s) => s.share);
    const linked = links.filter((l) => l.target.start < end && l.target.end > start);
    return {
      start: inTarget + start,
      end: inTarget + end,
      share: own.length ? Math.min(...own) : null,
      isCalibrated: Boolean(detail.words),
      links: linked.map(({ source }) => ({ start: inSource + source.start, end: inSource + source.end })),
    };
  });
}

/**
 * The words of a text, without spaces and punctuation.
 * @param {string} text
 * @param {string} language
 * @returns {Span[]}
 */
function segments(text, language) {
  const words = [...new Intl.Segmenter(language || "en", { granularity: "word" }).segment(text)];
  return words
    .filter((word) => word.isWordLike)
    .map((word) => ({ start: word.index, end: word.index + word.segment.length }));
}

/** @param {SentenceDetail} detail */
function linksOf(detail) {
  const source = unitsOf(detail.source), target = unitsOf(detail.target);
  return (detail.alignment ?? [])
    .filter(([, , , , weight]) => weight >= LEAST_WEIGHT)
    .map(([from, to, start, end]) => ({
      source: { start: source[from] ?? 0, end: source[to] ?? 0 },
      target: { start: target[start] ?? 0, end: target[end] ?? 0 },
    }));
}

/**
 * What the server says about each word.
 * @param {SentenceDetail} detail
 */
function confidences(detail) {
  const units = unitsOf(detail.target);
  return (detail.words ?? []).map(([start, end, share]) => ({
    start: units[start] ?? 0, end: units[end] ?? 0, share,
  }));
}

/**
 * The probability of each token and its place in the text; nothing if the tokens do not spell it.
 * @param {SentenceDetail} detail
 */
function probabilities(detail) {
  const shares = [];
  let at = 0;
  for (const [index, token] of detail.tokens.entries()) {
    const text = token.replaceAll(SPACE, " ").trim();
    if (!text || /^<.*>$/.test(token)) continue;
    const start = detail.target.indexOf(text, at);
    if (start < 0 || start > at + 2) return [];
    at = start + text.length;
    shares.push({ start, end: at, share: Math.exp(detail.log_probs[index] ?? 0) });
  }
  return shares;
}
