// Files to translate: sent one after the other, with their progress, and offered for saving.

import { authorization, credentials, refuse } from "../api.js";
import { byId, make } from "../dom.js";
import { percent, t } from "../i18n.js";
import { nameOf } from "../languages.js";

/** @typedef {import("../extras.js").Page} Page */
/** @typedef {{row: HTMLElement, state: HTMLElement, bar: HTMLProgressElement, cancel: HTMLButtonElement}} Shown */

const MOST_FILES = 20;

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
  }

  /** @param {File[]} files */
  take(files) {
    const { from, to } = this.#page.languages; // "auto" is the language of the file, not of the text
    for (const file of files.slice(0, MOST_FILES)) {
      const shown = this.#show(file);
      const aborting = new AbortController();
      shown.cancel.addEventListener("click", () => {
        aborting.abort();
        shown.row.remove();
      });
      this.#last = this.#last.then(() => this.#translate(file, from, to, shown, aborting.signal));
    }
  }

  /**
   * @param {File} file
   * @returns {Shown}
   */
  #show(file) {
    const state = make("span", { class: "note", role: "status" }, t("fileWaiting"));
    const bar = make("progress", { max: "1", value: "0", "aria-label": file.name });
    const cancel = make("button", { type: "button", class: "icon", "aria-label": t("fileRemove", { name: file.name }) }, "×");
    const row = make("div", { class: "file" }, make("bdi", { class: "name" }, file.name), bar, state, cancel);
    this.#list.append(row);
    return { row, state, bar, cancel };
  }

  /**
   * @param {File} file
   * @param {string} from
   * @param {string} to
   * @param {Shown} shown
   * @param {AbortSignal} signal
   */
  async #translate(file, from, to, shown, signal) {
    if (signal.aborted) return;
    try {
      await this.#requireFormat(file.name);
      let target = to, sent = await this.#send(file, from, target, shown, signal);
      if (sent.own === target) {
        target = this.#page.languages.insteadOf(sent.own);
        if (!target) throw new Error(t("sameLanguage", { language: nameOf(sent.own) }));
        sent = await this.#send(file, from, target, shown, signal);
      }
      const blob = await fetched(sent.url, shown, signal);
      const name = file.name.replace(/(\.[^.]+)$/, `.${target}$1`);
      const link = make("a", { href: URL.createObjectURL(blob), download: name, class: "tool" }, t("fileSave", { name }));
      shown.bar.remove();
      shown.state.replaceChildren(t("fileDone"));
      shown.state.after(link);
    } catch (error) {
      if (signal.aborted) return;
      shown.bar.remove();
      shown.state.classList.add("is-wrong");
      shown.state.textContent = error instanceof Error ? error.message : String(error);
    }
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
   * Sends a file -> the address of its translation, and its own language if that was detected.
   * @param {File} file
   * @param {string} source
   * @param {string} target
   * @param {Shown} shown
   * @param {AbortSignal} signal
   * @returns {Promise<{url: URL, own?: string}>}
   */
  #send(file, source, target, shown, signal) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ source, target, ...credentials() })) form.append(name, value);
    form.append("file", file);
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      signal.addEventListener("abort", () => request.abort());
      request.open("POST", new URL("translate_file", document.baseURI));
      request.responseType = "json";
      request.upload.addEventListener("progress", ({ loaded, total }) => {
        shown.bar.value = total ? loaded / total : 0;
        shown.state.textContent = t("fileSending", { share: percent(total ? loaded / total : 0) });
      });
      request.upload.addEventListener("load", () => {
        shown.bar.removeAttribute("value");
        shown.state.textContent = t("fileTranslating");
      });
      request.addEventListener("error", () => reject(new Error(t("fileUnreachable"))));
      request.addEventListener("abort", () => reject(new Error(t("fileUnreachable"))));
      request.addEventListener("load", () => {
        const answer = request.response ?? {}, own = answer.detectedLanguage?.language;
        if (request.status === 200) return resolve({ url: onThisHost(answer.translatedFileUrl), own });
        refuse(answer.code);
        const reason = own ? t("notOffered", { language: nameOf(own) }) : answer.error;
        reject(new Error(reason ?? String(request.status)));
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

/**
 * The address on this page's host: behind a proxy the server may know another name.
 * @param {string} url
 */
function onThisHost(url) {
  const path = new URL(url, document.baseURI).pathname;
  const at = path.lastIndexOf("/download_file/");
  return new URL(path.slice(at + 1), document.baseURI);
}

/**
 * @param {URL} url
 * @param {Shown} shown
 * @param {AbortSignal} signal
 */
async function fetched(url, shown, signal) {
  const answer = await fetch(url, { headers: authorization(), signal });
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
