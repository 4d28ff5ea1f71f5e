// The types of what the page and the server tell each other. It is never loaded.

/**
 * @typedef {{
 *   source: string, target: string, tokens: string[], log_probs: number[], score: number,
 *   finish_reason: string, times_ms: {queue: number, encode: number, decode: number},
 *   alignment?: [number, number, number, number, number][],
 *   confidence?: number, words?: [number, number, number][],
 *   checks?: {kind: string, source: string[], target: string[], message: string}[],
 * }} SentenceDetail
 * @typedef {{model: string, sentences: SentenceDetail[], pivot?: {language: string, text: string}}} TextDetail
 * @typedef {{
 *   translatedText: string, detectedLanguage?: {language: string, confidence: number},
 *   alternatives?: string[], details?: TextDetail[], isTaken?: boolean,
 * }} Answer isTaken: people took it from the other translations
 * @typedef {{q: string, source: string, target: string, format?: "html", alternatives?: number, details?: boolean,
 *   keep?: string[], glossary?: import("./glossary.js").Term[], target_prefix?: string[],
 *   beam_size?: number, length_penalty?: number, temperature?: number, top_p?: number, seed?: number}} Fields
 */

export {};
