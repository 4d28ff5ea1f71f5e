// Files to translate: sent one after the other, followed until they are done, and offered for saving.

import { authorization, credentials, refuse } from "../api.js";
import { byId, make } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { nameOf } from "../languages.js";
import { load, save } from "../storage.js";

/** @typedef {import("../page.js").Page} Page */
/** @typedef {{row: HTMLElement, state: HTMLElement, bar: HTMLProgressElement, signal: AbortSignal, remove: () => void}} Shown */
/** @typedef {{id: string, name: string, from: string, target: string}} Sent what the browser's tab keeps of a file that was sent */
/**
 * @typedef {{id: string, status: "queued" | "translating" | "done" | "error", characters: number, characters_done: number,
 *   seconds_remaining: number | null, source: string | null, error: string | null}} Told
 */

const FIRST_MILLISECONDS = 200, LAST_MILLISECONDS = 3000, SLOWER = 1.5;
const MINUTE_SECONDS = 60;

/** The files that were sent and not removed since, also before the page was loaded again. */
function sentBefore() {
  return /** @type {Sent[] | null} */ (load("files", null, "sessionStorage")) ?? [];
}

export class Files {
  #list = byId("files", HTMLElement);
  #page;
  /** @type {Promise<void>} */
  #last = Promise.resolve();
  /** @type {Promise<string[]> | null} */
  #formats = null;

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    for (const sent of sentBefore()) {
      const shown = this.#show(sent.name);
      void this.#trying(shown, () => this.#follow(sent, shown));
    }
  }

  /** @param {File[]} files */
  take(files) {
    const { from, to } = this.#page.languages; // "auto" is the language of the file, not of the text
    for (const file of files) {
      const shown = this.#show(file.name);
      this.#last = this.#last.then(() => this.#trying(shown, async () => {
        if (shown.signal.aborted) return;
        await this.#requireFormat(file.name);
        const sent = await this.#send(file, from, to, shown);
        void this.#trying(shown, () => this.#follow(sent, shown, file));
      }));
    }
  }

  /**
   * @param {string} name
   * @returns {Shown}
   */
  #show(name) {
    const state = make("span", { class: "note", role: "status" }, t("fileWaiting"));
    const bar = make("progress", { max: "1", value: "0", "aria-label": name });
    const cancel = make("button", { type: "button", class: "icon", "aria-label": t("fileRemove", { name }) }, "×");
    const row = make("div", { class: "file" }, make("bdi", { class: "name" }, name), bar, state, cancel);
    const aborting = new AbortController(), { signal } = aborting;
    const shown = { row, state, bar, signal, remove: () => {} };
    cancel.addEventListener("click", () => {
      aborting.abort();
      row.remove();
      shown.remove();
    });
    this.#list.append(row);
    return shown;
  }

  /**
   * Does something for a file, and shows why it failed.
   * @param {Shown} shown
   * @param {() => Promise<void>} act
   */
  async #trying(shown, act) {
    try {
      await act();
    } catch (error) {
      if (shown.signal.aborted) return;
      shown.bar.remove();
      shown.state.classList.add("is-wrong");
      shown.state.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * Waits until a file that was sent is translated, and offers the translation.
   * @param {Sent} sent
   * @param {Shown} shown
   * @param {File} [file] what was sent, unless the page was loaded again since
   * @returns {Promise<void>}
   */
  async #follow(sent, shown, file) {
    keep(sent);
    shown.remove = () => void remove(sent.id);
    const told = await ended(sent.id, shown);
    if (told.status === "error") {
      forget(sent.id);
      throw new Error(told.source ? t("notOffered", { language: nameOf(told.source) }) : String(told.error));
    }
    if (sent.from === "auto" && told.source === sent.target) {
      const target = this.#page.languages.insteadOf(sent.target);
      void remove(sent.id);
      if (!target || !file) throw new Error(t("sameLanguage", { language: nameOf(sent.target) }));
      return this.#follow(await this.#send(file, sent.from, target, shown), shown, file);
    }
    const blob = await fetched(sent.id, shown);
    const name = sent.name.replace(/(\.[^.]+)$/, `.${sent.target}$1`);
    const link = make("a", { href: URL.createObjectURL(blob), download: name, class: "tool" }, t("fileSave", { name }));
    shown.bar.remove();
    shown.state.replaceChildren(t("fileDone"));
    shown.state.after(link);
  }

  /** @param {string} name */
  async #requireFormat(name) {
    this.#formats ??= formats();
    const known = await this.#formats.catch(() => {
      this.#formats = null;
      throw new Error(t("fileUnreachable"));
    });
    const own = /\.[^.]*$/.exec(name.toLowerCase())?.[0] ?? "", format = this.#page.otherFormat(own);
    if (format) throw new Error(t("fileSaveAs", { suffix: own, format }));
    if (!known.includes(own)) {
      throw new Error(t("fileFormat", { formats: known.join(", ") }));
    }
  }

  /**
   * Sends a file, which the server then has to translate.
   * @param {File} file
   * @param {string} from
   * @param {string} target
   * @param {Shown} shown
   * @returns {Promise<Sent>}
   */
  #send(file, from, target, shown) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ source: from, target, ...credentials() })) form.append(name, value);
    form.append("file", file);
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      shown.signal.addEventListener("abort", () => request.abort());
      request.open("POST", new URL("documents", document.baseURI));
      request.responseType = "json";
      request.upload.addEventListener("progress", ({ loaded, total }) => {
        shown.bar.value = total ? loaded / total : 0;
        shown.state.textContent = t("fileSending", { share: percent(total ? loaded / total : 0) });
      });
      request.addEventListener("error", () => reject(new Error(t("fileUnreachable"))));
      request.addEventListener("abort", () => reject(new Error(t("fileUnreachable"))));
      request.addEventListener("load", () => {
        const answer = request.response ?? {};
        if (request.status === 202) return resolve({ id: answer.id, name: file.name, from, target });
        refuse(answer.code);
        reject(new Error(answer.error ?? String(request.status)));
      });
      request.send(form);
    });
  }
}

/** @returns {Promise<string[]>} suffixes, such as .txt */
async function formats() {
  const answer = await fetch(new URL("frontend/settings", document.baseURI));
  if (!answer.ok) throw new Error(String(answer.status));
  return (await answer.json()).supportedFilesFormat;
}

/** @param {Sent} sent */
function keep(sent) {
  save("files", [...sentBefore().filter(({ id }) => id !== sent.id), sent], "sessionStorage");
}

/** @param {string} id */
function forget(id) {
  const others = sentBefore().filter((sent) => sent.id !== id);
  save("files", others.length ? others : null, "sessionStorage");
}

/**
 * Removes a file from the server, which cancels its translation.
 * @param {string} id
 */
async function remove(id) {
  forget(id);
  await fetch(address(id), { method: "DELETE", headers: authorization(), keepalive: true }).catch(() => {});
}

/** @param {string} id */
function address(id) {
  return new URL(`documents/${id}`, document.baseURI);
}

/**
 * What has become of a file once it is translated or has failed; shows its progress until then.
 * @param {string} id
 * @param {Shown} shown
 * @returns {Promise<Told>}
 */
async function ended(id, { bar, state, signal }) {
  for (let pause = FIRST_MILLISECONDS; ; pause = Math.min(pause * SLOWER, LAST_MILLISECONDS)) {
    const told = await status(id, signal);
    if (told?.status === "done" || told?.status === "error") return told;
    if (told?.status === "translating") {
      const share = told.characters ? told.characters_done / told.characters : 0, left = told.seconds_remaining;
      bar.value = share;
      const values = { share: percent(share), time: left === null ? "" : duration(left) };
      state.textContent = t(left === null ? "fileTranslating" : "fileLeft", values);
    } else {
      bar.removeAttribute("value");
      state.textContent = t(told ? "fileWaiting" : "fileUnreachable");
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    signal.throwIfAborted();
  }
}

/**
 * What the server says of a file; null if it cannot say that now.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Told | null>}
 */
async function status(id, signal) {
  const answer = await fetch(address(id), { headers: authorization(), signal }).catch(() => null);
  signal.throwIfAborted();
  const found = await answer?.json().catch(() => null);
  if (answer?.ok || !found) return found;
  if (refuse(found.code) || answer?.status === 429 || Number(answer?.status) >= 500) return null;
  forget(id);
  throw new Error(found.error);
}

/** @param {number} seconds */
function duration(seconds) {
  const isLong = seconds >= MINUTE_SECONDS;
  const value = isLong ? Math.ceil(seconds / MINUTE_SECONDS) : seconds;
  return number(value, { style: "unit", unit: isLong ? "minute" : "second", unitDisplay: "short" });
}

/**
 * The translation of a file.
 * @param {string} id
 * @param {Shown} shown
 */
async function fetched(id, shown) {
  const answer = await fetch(new URL(`documents/${id}/result`, document.baseURI), { headers: authorization(), signal: shown.signal });
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  const total = Number(answer.headers.get("Content-Length"));
  const parts = [];
  let loaded = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    loaded += value.length;
    if (total) shown.bar.value = Math.min(1, loaded / total);
    shown.state.textContent = t("fileFetching");
  }
  return new Blob(parts, { type: answer.headers.get("Content-Type") ?? "" });
}
