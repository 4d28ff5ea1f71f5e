// The options of decoding: kept by the browser, sent with each request.

import { load, save } from "./storage.js";

/**
 * @typedef {Partial<import("./messages.js").Fields>} Chosen
 * @typedef {Record<string, string | boolean>} Values of the form's fields, by their names
 */

const SEARCH = ["alternatives", "beam_size", "length_penalty"];
const SAMPLING = ["length_penalty", "temperature", "top_p", "seed"]; // it draws one translation
export const NUMBERS = [...new Set([...SEARCH, ...SAMPLING])];
const WHOLE = new Set(["alternatives", "beam_size", "seed"]);
/** @type {Values} */
const DEFAULTS = { mode: "search", keep: "", details: true, ...Object.fromEntries(NUMBERS.map((n) => [n, ""])), alternatives: "2" };
const MOST_KEPT = 100, MOST_KEPT_CHARACTERS = 200; // as POST /translate has them
const MOST_ALTERNATIVES = 15;

export class Options {
  #changed;
  /** @type {Values} */
  #values = cleaned(load("options", {}));
  /** @type {Record<string, [number, number]>} */
  #bounds = {
    alternatives: [0, MOST_ALTERNATIVES], beam_size: [1, 64], length_penalty: [0, 10],
    temperature: [0.01, 100], top_p: [0, 1], seed: [0, Number.MAX_SAFE_INTEGER],
  };

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get values() {
    return this.#values;
  }

  /** Takes and keeps new values. @param {Values} values */
  set values(values) {
    this.#values = cleaned(values);
    save("options", this.#values);
    this.#changed();
  }

  get isSampling() {
    return this.#values.mode === "sampling";
  }

  /**
   * Sets the bounds that the server has.
   * @param {number} mostBeams
   */
  limit(mostBeams) {
    this.#bounds.beam_size = [1, mostBeams];
    this.#bounds.alternatives = [0, Math.min(MOST_ALTERNATIVES, mostBeams - 1)];
  }

  /**
   * Whether a number is within its bounds, or left to the server.
   * @param {string} name
   */
  isValid(name) {
    const [low, high] = this.#bounds[name], value = Number(this.#values[name]);
    if (this.#values[name] === "") return true;
    return value >= low && value <= high && (!WHOLE.has(name) || Number.isInteger(value));
  }

  /**
   * The fields of a request that differ from the server's own.
   * @returns {Chosen}
   */
  get chosen() {
    /** @type {Record<string, number | boolean | string[]>} */
    const chosen = {};
    for (const name of this.isSampling ? SAMPLING : SEARCH) {
      if (this.#values[name] !== "" && this.isValid(name)) chosen[name] = Number(this.#values[name]);
    }
    if (this.isSampling && !("temperature" in chosen)) chosen.temperature = 1;
    if (!chosen.alternatives) delete chosen.alternatives;
    if (this.#kept.length) chosen.keep = this.#kept;
    if (this.#values.details) chosen.details = true;
    return chosen;
  }

  get #kept() {
    const parts = String(this.#values.keep).split(/[,，、;；]/).map((part) => part.trim());
    return [...new Set(parts)].filter((part) => part && part.length <= MOST_KEPT_CHARACTERS).slice(0, MOST_KEPT);
  }
}

/**
 * Values of the right kinds, whatever was stored.
 * @param {unknown} given
 * @returns {Values}
 */
function cleaned(given) {
  const values = Object(given);
  const kept = Object.entries(DEFAULTS).map(([name, own]) => [name, typeof values[name] === typeof own ? values[name] : own]);
  return Object.fromEntries(kept);
}
