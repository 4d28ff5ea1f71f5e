// One wanted translation at a time: the newest request replaces the older one.

import { credentials } from "./api.js";
import { Connection } from "./connection.js";
import { Retry } from "./retry.js";

/**
 * @typedef {import("./messages.js").Answer} Answer
 * @typedef {import("./messages.js").Fields} Fields
 * @typedef {import("./connection.js").Reason} Reason
 * @typedef {{
 *   begun(fields: Fields): void,
 *   token(text: string, segment: number): void,
 *   final(answer: Answer, fields: Fields): void,
 *   failed(code: string, error: string, language?: string): void,
 *   waiting(reason: Reason, seconds: number, told: string): void,
 *   slow(): void,
 * }} Listener
 *   language: that of the text, which is not offered; told: the server's sentence, if it said one
 */

const PASSING = new Set(["overloaded", "not_ready", "loading", "draining", "replica_lost", "too_many_streams", "cancelled"]);
const LIMITS = new Set(["too_many_requests", "too_many_characters", "too_many_at_once"]);
const SLOW_MILLISECONDS = 3000;
const STARVING_MILLISECONDS = 1500;

export class Session {
  #connection;
  #retry = new Retry(() => this.retry());
  #on;
  /** @type {Fields | null} what is asked or will be */
  #wanted = null;
  /** @type {Fields | null} what comes after the request in progress */
  #next = null;
  #id = 0;
  #isAsked = false;
  #isSlow = false;
  #slowTimer = 0;
  #lastShown = 0;

  /**
   * @param {URL} url of the websocket
   * @param {Listener} on
   */
  constructor(url, on) {
    this.#on = on;
    this.#connection = new Connection(url, {
      opened: () => this.#send(),
      came: (message) => this.#take(message),
      tooLarge: (told) => this.#wanted && this.#fail("body_too_large", told),
      lost: (reason, seconds) => this.#lose(reason, seconds),
    });
    addEventListener("online", () => this.retry());
  }

  /**
   * Asks for a translation in place of the one before. If newer requests came so fast that nothing
   * was shown for a while, the one in progress may end first.
   * @param {Fields} fields
   */
  ask(fields) {
    const isStarving = performance.now() - this.#lastShown > STARVING_MILLISECONDS;
    if (this.#isAsked && isStarving) {
      this.#next = fields;
      return;
    }
    if (!this.#wanted) this.#lastShown = performance.now();
    this.stop();
    this.#wanted = fields;
    if (!this.#retry.isPlanned) this.#send();
  }

  /** Nothing is wanted any more. */
  stop() {
    if (this.#isAsked && this.#connection.isOpen) {
      this.#connection.send({ id: this.#id, cancel: true });
    }
    this.#wanted = this.#next = null;
    this.#isAsked = false;
    this.#unwatch();
  }

  /** Tries again at once what waits for its next try, or for an answer for too long. */
  retry() {
    this.#retry.cancel();
    if (this.#isSlow) {
      this.#isAsked = this.#isSlow = false;
      this.#connection.drop();
    }
    if (this.#wanted && !this.#isAsked) this.#send();
  }

  /** Connects before there is something to ask, so that the first word comes sooner. */
  warm() {
    if (!this.#retry.isPlanned) this.#connection.open();
  }

  #send() {
    this.#connection.open();
    if (!this.#wanted) return;
    this.#watch();
    if (!this.#connection.isOpen) return;
    this.#id += 1;
    this.#isAsked = true;
    this.#connection.send({ ...this.#wanted, ...credentials(), id: this.#id });
    this.#on.begun(this.#wanted);
  }

  /** @param {{id?: number, type: string, text?: string, segment?: number, code?: string, error?: string, retry_after?: number} & Answer} message */
  #take(message) {
    const isOld = message.id !== undefined && message.id !== this.#id;
    if (isOld || !this.#isAsked || !this.#wanted) return;
    this.#lastShown = performance.now();
    this.#watch();
    if (message.type === "token") {
      this.#on.token(message.text ?? "", message.segment ?? 0);
    } else if (message.type === "final") {
      this.#retry.succeed();
      const fields = this.#wanted;
      this.#end();
      this.#on.final(message, fields);
      this.#goOn();
    } else if (PASSING.has(message.code ?? "")) {
      this.#lose("busy", message.retry_after);
    } else if (LIMITS.has(message.code ?? "")) {
      this.#lose("limited", message.retry_after, message.error);
    } else {
      this.#fail(message.code ?? "", message.error ?? "", message.detectedLanguage?.language);
    }
  }

  /**
   * @param {string} code
   * @param {string} error
   * @param {string} [language]
   */
  #fail(code, error, language) {
    this.#end();
    this.#on.failed(code, error, language);
    this.#goOn();
  }

  #end() {
    this.#unwatch();
    this.#isAsked = false;
    this.#wanted = null;
  }

  #goOn() {
    const next = this.#next;
    this.#next = null;
    if (next) this.ask(next);
  }

  #watch() {
    this.#unwatch();
    this.#slowTimer = setTimeout(() => {
      this.#isSlow = true;
      this.#on.slow();
    }, SLOW_MILLISECONDS);
  }

  #unwatch() {
    clearTimeout(this.#slowTimer);
    this.#isSlow = false;
  }

  /**
   * Keeps what was wanted, and tries again after a pause that grows.
   * @param {Reason} reason
   * @param {number} [leastSeconds]
   * @param {string} [told]
   */
  #lose(reason, leastSeconds = 0, told = "") {
    this.#unwatch();
    this.#retry.cancel();
    if (!this.#connection.isOpen) this.#connection.drop();
    this.#isAsked = false;
    this.#wanted = this.#next ?? this.#wanted;
    this.#next = null;
    if (!this.#wanted) return;
    const seconds = this.#retry.plan(leastSeconds);
    this.#on.waiting(navigator.onLine ? reason : "offline", seconds, told);
  }
}
