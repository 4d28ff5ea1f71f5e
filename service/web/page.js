// The type of what the page's parts may ask of it. It is never loaded.

/**
 * @typedef {import("./parts/spans.js").Sentence} Sentence
 * @typedef {import("./parts/spans.js").Word} Word
 * @typedef {{
 *   source: import("./source.js").Source,
 *   status: import("./status.js").Status,
 *   languages: import("./languages.js").Languages,
 *   takesGlossary(from: string, to: string): boolean,
 *   otherFormat(suffix: string): string,
 *   pair(): {from: string, to: string},
 *   hop(): {from: string, to: string},
 *   sentence(word: Word): {sentence: Sentence, index: number} | null,
 *   sources(): string[],
 *   shown(): import("./translation.js").Translation,
 *   begin(index: number, text: string): void,
 *   change(isComposing?: boolean): void,
 *   translate(): void,
 * }} Page
 *   otherFormat: the suffix that a file of this one must be saved as, or ""
 *   sources: the sentences of the shown translation's text
 *   pair: the chosen languages; hop: those between which the sentences are translated, which a pivot changes
 */

export {};
