// POST /translate behind a websocket's interface, for networks that let no websocket through. There
// is one message an answer: its end.

export class PostSocket extends EventTarget {
  #url;
  /** @type {AbortController | null} */
  #inProgress = null;
  /** @type {number} */
  readyState = WebSocket.CONNECTING;

  /** @param {URL} url of POST /translate */
  constructor(url) {
    super();
    this.#url = url;
    queueMicrotask(() => {
      this.readyState = WebSocket.OPEN;
      this.dispatchEvent(new Event("open"));
    });
  }

  /** @param {string} text a request, or the cancelling of one */
  send(text) {
    const { id, cancel, ...fields } = JSON.parse(text);
    this.#inProgress?.abort();
    if (!cancel) void this.#post(id, fields);
  }

  close() {
    this.#inProgress?.abort();
    this.readyState = WebSocket.CLOSED;
  }

  /**
   * @param {number} id
   * @param {object} fields
   */
  async #post(id, fields) {
    const aborting = (this.#inProgress = new AbortController());
    try {
      const answer = await fetch(this.#url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(fields),
        signal: aborting.signal,
      });
      const type = answer.ok ? "final" : "error";
      const retry_after = Number(answer.headers.get("Retry-After")) || undefined;
      const data = JSON.stringify({ ...(await answer.json()), type, id, retry_after });
      this.dispatchEvent(new MessageEvent("message", { data }));
    } catch {
      if (aborting.signal.aborted) return;
      this.readyState = WebSocket.CLOSED;
      this.dispatchEvent(new CloseEvent("close"));
    }
  }
}
