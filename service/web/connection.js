// The way to the server: a websocket, or POST /translate where networks let none through.

/**
 * @typedef {"offline" | "unreachable" | "restarting" | "lost" | "busy" | "limited"} Reason
 * @typedef {{
 *   opened(): void,
 *   came(message: any): void,
 *   tooLarge(told: string): void,
 *   lost(reason: Reason, seconds?: number): void,
 * }} Listener
 *   tooLarge: the server closes the connection for what was sent; lost: the connection is gone, and
 *   the server asks for a pause of so many seconds
 */

const RESTARTING = 1012, TOO_LARGE = 1009;
const PROBE_MILLISECONDS = 8000;
const REFUSALS_OF_BLOCKED = 2;

export class Connection {
  #url;
  #on;
  /** @type {WebSocket | import("./parts/post_socket.js").PostSocket | null} */
  #socket = null;
  /** @type {typeof import("./parts/post_socket.js").PostSocket | null} in place of websockets */
  #PostSocket = null;
  /** How often a server that is ready opened no websocket. */
  #refusals = 0;

  /**
   * @param {URL} url of the websocket
   * @param {Listener} on
   */
  constructor(url, on) {
    this.#url = url;
    this.#on = on;
    addEventListener("offline", () => {
      this.drop();
      on.lost("offline");
    });
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** @param {object} message */
  send(message) {
    this.#socket?.send(JSON.stringify(message));
  }

  /** Leaves the connection, of which nothing is told any more. */
  drop() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** Connects, unless there is a connection or one on its way. */
  open() {
    if (this.#socket) return;
    const socket = this.#PostSocket
      ? new this.#PostSocket(new URL("translate", document.baseURI))
      : new WebSocket(this.#url);
    let wasOpen = false;
    this.#socket = socket;
    socket.addEventListener("open", () => {
      wasOpen = true;
      if (this.#socket === socket) this.#on.opened();
    });
    socket.addEventListener("message", (event) => {
      const { data } = /** @type {MessageEvent} */ (event);
      if (this.#socket === socket) this.#on.came(JSON.parse(data));
    });
    socket.addEventListener("close", (closing) => {
      const event = /** @type {CloseEvent} */ (closing);
      if (this.#socket === socket) void this.#end(event, wasOpen);
    });
  }

  /**
   * @param {CloseEvent} event
   * @param {boolean} wasOpen
   */
  async #end({ code, reason }, wasOpen) {
    const socket = this.#socket;
    if (code === TOO_LARGE) this.#on.tooLarge(reason);
    /** @type {[Reason, number?]} */
    let told = [code === RESTARTING ? "restarting" : "lost"];
    if (code !== RESTARTING && !wasOpen) told = await this.#explain();
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#on.lost(...told);
  }

  /**
   * Finds out why no connection opened: the probe says more than a websocket does.
   * @returns {Promise<[Reason, number?]>}
   */
  async #explain() {
    try {
      const signal = AbortSignal.timeout(PROBE_MILLISECONDS);
      const answer = await fetch(new URL("health/ready", document.baseURI), { cache: "no-store", signal });
      if (answer.ok) this.#refusals += 1;
      if (this.#refusals >= REFUSALS_OF_BLOCKED) {
        this.#PostSocket = (await import("./parts/post_socket.js")).PostSocket;
      }
      return [answer.ok ? "lost" : "busy", Number(answer.headers.get("Retry-After")) || 0];
    } catch {
      return ["unreachable"];
    }
  }
}
