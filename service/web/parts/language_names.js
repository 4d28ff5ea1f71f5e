// Finds languages by their names in several languages and by their codes.

/** @type {Map<string, Intl.DisplayNames>} by the language of the names */
const KNOWN = new Map();
const NAMED_IN = ["en", "de", "zh"];
const CODE = 0, BEGINNING = 1, WORD = 2, WITHIN = 3, NOWHERE = 4;

/**
 * The choices that a search finds, best first: by code, by the beginning of a name, of its second
 * word, by a part of it.
 * @template {{value: string, text: string}} T
 * @param {T[]} choices codes, and names as they are shown
 * @param {string} query
 */
export function search(choices, query) {
  const wanted = folded(query.trim());
  if (!wanted) return choices;
  const code = canonical(wanted);
  const ranks = new Map(choices.map((choice) => [choice, rank(choice, wanted, code)]));
  const rankOf = (/** @type {T} */ choice) => ranks.get(choice) ?? NOWHERE;
  return choices.filter((choice) => rankOf(choice) < NOWHERE).sort((a, b) => rankOf(a) - rankOf(b));
}

/**
 * @param {{value: string, text: string}} choice
 * @param {string} wanted
 * @param {string} code
 */
function rank({ value, text }, wanted, code) {
  if (code && canonical(value) === code) return CODE;
  const named = [...NAMED_IN, value].map((language) => nameIn(language, value));
  const names = [value, text, ...named].map(folded);
  if (names.some((name) => name.startsWith(wanted))) return BEGINNING;
  if (names.some((name) => name.split(/[\s()-]+/).some((word) => word.startsWith(wanted)))) return WORD;
  return names.some((name) => name.includes(wanted)) ? WITHIN : NOWHERE;
}

/**
 * Without marks and capitals: "français" is "francais".
 * @param {string} text
 */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/**
 * The language and script of a code: those of de, deu, ger and deu_Latn are the same.
 * @param {string} code
 */
function canonical(code) {
  try {
    const { language, script } = new Intl.Locale(code.replaceAll("_", "-")).maximize();
    return `${language} ${script}`;
  } catch {
    return "";
  }
}

/**
 * "" if the browser does not know it.
 * @param {string} language of the name
 * @param {string} code
 */
function nameIn(language, code) {
  try {
    const names = KNOWN.get(language) ?? new Intl.DisplayNames([language], { type: "language", fallback: "none" });
    KNOWN.set(language, names);
    return names.of(code) ?? "";
  } catch {
    return "";
  }
}
