// What the page must know of the server before it can ask: its languages and its limits.

import { Retry } from "./retry.js";

/**
 * @typedef {import("./languages.js").Language} Language
 * @typedef {import("./asking.js").Limits} Limits
 */

const MOST_MILLISECONDS = 10_000;

/** Loads the languages and limits, and tries again until the server answers. */
export class Start {
  #known;
  #waiting;
  #retry = new Retry(() => void this.load());

  /**
   * @param {(languages: Language[], limits: Limits) => void} known
   * @param {(seconds: number) => void} waiting called before each pause
   */
  constructor(known, waiting) {
    this.#known = known;
    this.#waiting = waiting;
  }

  /** Loads them now. */
  async load() {
    this.#retry.cancel();
    let all;
    try {
      all = await Promise.all([fetchJson("languages"), fetchJson("page/limits.json")]);
    } catch {
      this.#waiting(this.#retry.plan());
      return;
    }
    this.#known(all[0], all[1]);
  }
}

/**
 * The JSON at a path of this server.
 * @param {string} path
 */
async function fetchJson(path) {
  const signal = AbortSignal.timeout(MOST_MILLISECONDS);
  const answer = await fetch(new URL(path, document.baseURI), { signal });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
