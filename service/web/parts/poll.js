// Reading again and again, while it is wanted and the page is visible.

export class Poll {
  #read;
  #timer = 0;
  #isOpen = false;

  /** @param {() => Promise<number>} read returns the milliseconds until the next time */
  constructor(read) {
    this.#read = read;
    document.addEventListener("visibilitychange", () => this.open(this.#isOpen));
  }

  /** @param {boolean} isOpen whether it is wanted */
  open(isOpen) {
    this.#isOpen = isOpen;
    void this.#next();
  }

  async #next() {
    clearTimeout(this.#timer);
    if (!this.#isOpen || document.hidden) return;
    const pause = await this.#read();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#next(), pause);
  }
}
