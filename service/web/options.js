// The options of decoding: read from the form, kept by the browser, sent with each request.

import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { load, save } from "./storage.js";

/** @typedef {Partial<import("./session.js").Fields>} Chosen */

const SEARCH = ["alternatives", "beam_size", "length_penalty"];
const SAMPLING = ["alternatives", "length_penalty", "temperature", "top_p", "seed"];
/** @type {Record<string, [number, number]>} */
const BOUNDS = {
  alternatives: [0, 15], beam_size: [1, 64], length_penalty: [0, 10],
  temperature: [0.01, 100], top_p: [0, 1], seed: [0, Number.MAX_SAFE_INTEGER],
};
const DEFAULTS = { mode: "search", alternatives: "2", keep: "", details: true };
const MOST_KEPT = 100, MOST_KEPT_CHARACTERS = 200; // as POST /translate has them

export class Options {
  #form = byId("options", HTMLFormElement);
  #note = byId("options-note", HTMLElement);

  /** @param {() => void} changed */
  constructor(changed) {
    this.#fill(Object(load("options", {})));
    this.#form.addEventListener("input", () => {
      save("options", this.#values());
      this.#check();
      changed();
    });
    this.#form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.#fill({});
      save("options", {});
      changed();
    });
    this.#form.addEventListener("submit", (event) => event.preventDefault());
  }

  /**
   * Sets the bounds that the server has.
   * @param {number} mostBeams
   */
  limit(mostBeams) {
    BOUNDS.beam_size = [1, mostBeams];
    BOUNDS.alternatives = [0, Math.min(15, mostBeams - 1)];
    this.#check();
  }

  /**
   * The fields of a request that differ from the server's own.
   * @returns {Chosen}
   */
  get chosen() {
    /** @type {Record<string, number | boolean | string[]>} */
    const chosen = {};
    const isSampling = this.#field("mode").value === "sampling";
    for (const name of isSampling ? SAMPLING : SEARCH) {
      const field = this.#field(name);
      const value = Number(field.value);
      if (field.value !== "" && this.#isValid(name)) chosen[name] = value;
    }
    if (isSampling && !("temperature" in chosen)) chosen.temperature = 1;
    if (!chosen.alternatives) delete chosen.alternatives;
    if (this.#kept.length) chosen.keep = this.#kept;
    if (this.#checkbox.checked) chosen.details = true;
    return chosen;
  }

  get #kept() {
    const parts = this.#field("keep").value.split(/[,，、;；]/).map((part) => part.trim());
    return [...new Set(parts)].filter((part) => part && part.length <= MOST_KEPT_CHARACTERS).slice(0, MOST_KEPT);
  }

  get #checkbox() {
    return /** @type {HTMLInputElement} */ (this.#field("details"));
  }

  /** @param {string} name */
  #field(name) {
    return /** @type {HTMLInputElement | HTMLSelectElement} */ (this.#form.elements.namedItem(name));
  }

  /** @param {string} name */
  #isValid(name) {
    const field = this.#field(name);
    const [low, high] = BOUNDS[name];
    const value = Number(field.value);
    const isWhole = !(field instanceof HTMLInputElement && field.step === "1") || Number.isInteger(value);
    return field.validity.valid && isWhole && value >= low && value <= high;
  }

  #values() {
    const values = Object.fromEntries(["mode", ...Object.keys(BOUNDS)].map((n) => [n, this.#field(n).value]));
    return { ...values, keep: this.#field("keep").value, details: this.#checkbox.checked };
  }

  /** @param {Record<string, unknown>} given */
  #fill(given) {
    const values = { ...Object.fromEntries(Object.keys(BOUNDS).map((n) => [n, ""])), ...DEFAULTS, ...given };
    for (const name of ["mode", "keep", ...Object.keys(BOUNDS)]) {
      this.#field(name).value = String(values[/** @type {"mode"} */ (name)]);
    }
    if (!this.#field("mode").value) this.#field("mode").value = DEFAULTS.mode;
    this.#checkbox.checked = values.details !== false;
    this.#check();
  }

  /** Marks values that are not used, and hides options of the other mode. */
  #check() {
    const isSampling = this.#field("mode").value === "sampling";
    for (const label of this.#form.querySelectorAll("[data-mode]")) {
      /** @type {HTMLElement} */ (label).hidden = !isSampling;
    }
    /** @type {HTMLElement} */ (this.#field("beam_size").closest("label")).hidden = isSampling;
    const wrong = Object.keys(BOUNDS).filter((n) => {
      const field = this.#field(n);
      return !this.#isValid(n) && !(field.value === "" && !field.validity.badInput);
    });
    for (const name of Object.keys(BOUNDS)) {
      this.#field(name).setAttribute("aria-invalid", String(wrong.includes(name)));
    }
    this.#note.textContent = wrong.length ? t("optionsInvalid") : "";
  }
}
