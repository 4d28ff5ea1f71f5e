// One wanted translation at a time over the websocket: the newest request replaces the older one.

import { credentials } from "./api.js";

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
 *   alternatives?: string[], details?: TextDetail[],
 * }} Answer
 * @typedef {{q: string, source: string, target: string, format?: "html", alternatives?: number, details?: boolean,
 *   keep?: string[], glossary?: import("./glossary.js").Term[], target_prefix?: string[],
 *   beam_size?: number, length_penalty?: number, temperature?: number, top_p?: number, seed?: number}} Fields
 * @typedef {"offline" | "unreachable" | "restarting" | "lost" | "busy" | "limited"} Reason
 * @typedef {{
 *   begun(fields: Fields): void,
 *   token(text: string, segment: number): void,
 *   final(answer: Answer, fields: Fields): void,
 *   failed(code: string, error: string): void,
 *   waiting(reason: Reason, seconds: number, told: string): void,
 *   slow(): void,
 * }} Listener
 *   told: the server's sentence, if it said one
 */

const PASSING = new Set(["overloaded", "not_ready", "draining", "replica_lost", "too_many_streams", "cancelled"]);
const LIMITS = new Set(["too_many_requests", "too_many_characters", "too_many_at_once"]);
const RESTARTING = 1012, TOO_LARGE = 1009;
const SLOW_MILLISECONDS = 8000;
const STARVING_MILLISECONDS = 1500;
const MOST_SECONDS = 30;
const REFUSALS_OF_BLOCKED = 2;

/**
 * Seconds to wait before try number `failures`: twice as long each time, and not all tabs at once.
 * @param {number} failures
 * @param {number} [least] what the server asks for
 */
export function pause(failures, least = 0) {
  const grown = Math.min(MOST_SECONDS, 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
  return Math.max(grown, least * (1 + Math.random() / 10));
}

export class Session {
  #url;
  #on;
  /** @type {WebSocket | import("./parts/post_socket.js").PostSocket | null} */
  #socket = null;
  /** @type {typeof import("./parts/post_socket.js").PostSocket | null} in place of websockets */
  #PostSocket = null;
  /** How often a server that is ready opened no websocket. */
  #refusals = 0;
  /** @type {Fields | null} what is asked or will be */
  #wanted = null;
  /** @type {Fields | null} what comes after the request in progress */
  #next = null;
  #id = 0;
  #isAsked = false;
  #isSlow = false;
  #failures = 0;
  #retryTimer = 0;
  #slowTimer = 0;
  #lastShown = 0;

  /**
   * @param {URL} url of the websocket
   * @param {Listener} on
   */
  constructor(url, on) {
    this.#url = url;
    this.#on = on;
    addEventListener("online", () => this.retry());
    addEventListener("offline", () => {
      this.#socket?.close();
      this.#lose("offline");
    });
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
    if (!this.#retryTimer) this.#send();
  }

  /** Nothing is wanted any more. */
  stop() {
    if (this.#isAsked && this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ id: this.#id, cancel: true }));
    }
    this.#wanted = this.#next = null;
    this.#isAsked = false;
    this.#unwatch();
  }

  /** Tries again at once what waits for its next try, or for an answer for too long. */
  retry() {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = 0;
    if (this.#isSlow) this.#abandon();
    if (this.#wanted && !this.#isAsked) this.#send();
  }

  /** Leaves a connection on which nothing comes. */
  #abandon() {
    const socket = this.#socket;
    this.#socket = null;
    this.#isAsked = this.#isSlow = false;
    socket?.close();
  }

  /** Connects before there is something to ask, so that the first word comes sooner. */
  warm() {
    if (!this.#socket && !this.#retryTimer) this.#connect();
  }

  #send() {
    if (!this.#socket) this.#connect();
    if (!this.#wanted) return;
    this.#watch();
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#id += 1;
    this.#isAsked = true;
    this.#socket.send(JSON.stringify({ ...this.#wanted, ...credentials(), id: this.#id }));
    this.#on.begun(this.#wanted);
  }

  #connect() {
    const socket = this.#PostSocket
      ? new this.#PostSocket(new URL("translate", document.baseURI))
      : new WebSocket(this.#url);
    let wasOpen = false;
    this.#socket = socket;
    socket.addEventListener("open", () => {
      wasOpen = true;
      this.#send();
    });
    socket.addEventListener("message", (event) => {
      const { data } = /** @type {MessageEvent} */ (event);
      if (this.#socket === socket) this.#take(JSON.parse(data));
    });
    socket.addEventListener("close", (closing) => {
      const event = /** @type {CloseEvent} */ (closing);
      if (this.#socket !== socket) return;
      if (event.code === TOO_LARGE && this.#wanted) this.#fail("body_too_large", event.reason);
      if (event.code === RESTARTING) this.#lose("restarting");
      else if (wasOpen) this.#lose("lost");
      else void this.#explain();
    });
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
      this.#failures = 0;
      const fields = this.#wanted;
      this.#end();
      this.#on.final(message, fields);
      this.#goOn();
    } else if (PASSING.has(message.code ?? "")) {
      this.#lose("busy", message.retry_after);
    } else if (LIMITS.has(message.code ?? "")) {
      this.#lose("limited", message.retry_after, message.error);
    } else {
      this.#fail(message.code ?? "", message.error ?? "");
    }
  }

  /**
   * @param {string} code
   * @param {string} error
   */
  #fail(code, error) {
    this.#end();
    this.#on.failed(code, error);
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

  /** Finds out why no connection opened: the probe says more than a websocket does. */
  async #explain() {
    try {
      const signal = AbortSignal.timeout(SLOW_MILLISECONDS);
      const answer = await fetch(new URL("health/ready", document.baseURI), { cache: "no-store", signal });
      if (answer.ok) this.#refusals += 1;
      if (this.#refusals >= REFUSALS_OF_BLOCKED) {
        this.#PostSocket = (await import("./parts/post_socket.js")).PostSocket;
      }
      this.#lose(answer.ok ? "lost" : "busy", Number(answer.headers.get("Retry-After")) || 0);
    } catch {
      this.#lose("unreachable");
    }
  }

  /**
   * Keeps what was wanted, and tries again after a pause that grows.
   * @param {Reason} reason
   * @param {number} [leastSeconds]
   * @param {string} [told]
   */
  #lose(reason, leastSeconds = 0, told = "") {
    this.#unwatch();
    clearTimeout(this.#retryTimer);
    this.#retryTimer = 0;
    if (!["busy", "limited"].includes(reason) || this.#socket?.readyState !== WebSocket.OPEN) this.#socket = null;
    this.#isAsked = false;
    this.#wanted = this.#next ?? this.#wanted;
    this.#next = null;
    if (!this.#wanted) return;
    this.#failures += 1;
    const seconds = pause(this.#failures, leastSeconds);
    this.#retryTimer = setTimeout(() => this.retry(), seconds * 1000);
    this.#on.waiting(navigator.onLine ? reason : "offline", seconds, told);
  }
}
