// Trying again after pauses that grow.

const MOST_SECONDS = 30;

/** Calls something again: twice as late after each failure, and not in all tabs at once. */
export class Retry {
  #act;
  #failures = 0;
  #timer = 0;

  /** @param {() => void} act */
  constructor(act) {
    this.#act = act;
  }

  /** Whether it will be called. */
  get isPlanned() {
    return this.#timer !== 0;
  }

  /**
   * Plans the call after one more failure. Returns the seconds until then.
   * @param {number} [least] the seconds that the server asks for
   */
  plan(least = 0) {
    this.cancel();
    this.#failures += 1;
    const grown = Math.min(MOST_SECONDS, 2 ** (this.#failures - 1)) * (0.75 + Math.random() / 2);
    const seconds = Math.max(grown, least * (1 + Math.random() / 10));
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#act();
    }, seconds * 1000);
    return seconds;
  }

  /** Forgets the planned call. */
  cancel() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** It worked: the next pause is short again. */
  succeed() {
    this.#failures = 0;
  }
}
