// The history on this device: kept by the browser, read again before each change for other tabs.

import { byId, make } from "../dom.js";
import { t } from "../i18n.js";
import { nameOf } from "../languages.js";
import { load, onChange, save } from "../storage.js";

/** @typedef {{from: string, to: string, text: string, translation: string}} Entry */

const MOST_ENTRIES = 100;
const MOST_CHARACTERS = 5000;
const MOST_SHOWN = 300;

export class History {
  #list = byId("history", HTMLElement);
  #note = byId("no-history", HTMLElement);
  #search = byId("search", HTMLInputElement);
  #keep = byId("keep-history", HTMLInputElement);
  #clear = byId("clear-history", HTMLButtonElement);
  #isLasting = true;
  #chosen;

  /** @param {(entry: Entry) => void} chosen */
  constructor(chosen) {
    this.#chosen = chosen;
    this.#keep.checked = load("keepHistory", true) !== false;
    this.#keep.addEventListener("change", () => {
      save("keepHistory", this.#keep.checked);
      this.show();
    });
    this.#clear.addEventListener("click", () => this.#write([]));
    this.#search.addEventListener("input", () => this.show());
    onChange("history", () => this.show());
    onChange("keepHistory", () => {
      this.#keep.checked = load("keepHistory", true) !== false;
      this.show();
    });
  }

  /**
   * Adds an entry. One that only continues the newest replaces it.
   * @param {Entry} entry
   */
  add(entry) {
    if (!this.#keep.checked || entry.text.length > MOST_CHARACTERS || !entry.text.trim()) return;
    const rest = this.#read().filter((old, index) => {
      const isSamePair = old.from === entry.from && old.to === entry.to;
      const isContinued = index === 0 && entry.text.startsWith(old.text);
      return !isSamePair || !(old.text === entry.text || isContinued);
    });
    this.#write([entry, ...rest].slice(0, MOST_ENTRIES));
  }

  show() {
    const wanted = this.#search.value.trim().toLocaleLowerCase();
    const all = this.#read();
    const found = all.filter((e) => `${e.text}\n${e.translation}`.toLocaleLowerCase().includes(wanted));
    this.#list.replaceChildren(...found.map((entry) => this.#item(entry)));
    this.#clear.disabled = !all.length;
    this.#search.disabled = !all.length;
    this.#note.textContent = this.#noteFor(all.length, found.length);
    this.#note.hidden = !this.#note.textContent;
  }

  /**
   * @param {number} count
   * @param {number} found
   */
  #noteFor(count, found) {
    if (!this.#isLasting) return t("historyLost");
    if (!count) return this.#keep.checked ? t("historyEmpty") : t("historyOff");
    return found ? "" : t("historyNothing");
  }

  /** @param {Entry} entry */
  #item(entry) {
    const open = make("button", { type: "button", class: "entry" });
    const pair = make("span", { class: "pair-name" }, `${nameOf(entry.from)} → ${nameOf(entry.to)}`);
    const source = make("bdi", { lang: entry.from, dir: "auto" }, entry.text.slice(0, MOST_SHOWN));
    const target = make("bdi", { lang: entry.to, dir: "auto" }, entry.translation.slice(0, MOST_SHOWN));
    open.append(pair, source, target);
    open.addEventListener("click", () => this.#chosen(entry));
    const remove = make("button", { type: "button", class: "icon", "aria-label": t("remove") }, "×");
    remove.addEventListener("click", () => {
      this.#write(this.#read().filter((e) => JSON.stringify(e) !== JSON.stringify(entry)));
      this.#search.focus();
    });
    return make("li", {}, open, remove);
  }

  /** @returns {Entry[]} */
  #read() {
    const stored = load("history", []);
    return Array.isArray(stored) ? stored.filter(isEntry) : [];
  }

  /** @param {Entry[]} entries */
  #write(entries) {
    this.#isLasting = save("history", entries);
    this.show();
  }
}

/**
 * @param {unknown} value
 * @returns {value is Entry}
 */
function isEntry(value) {
  const entry = /** @type {Record<string, unknown>} */ (value);
  return ["from", "to", "text", "translation"].every((key) => typeof entry?.[key] === "string");
}
