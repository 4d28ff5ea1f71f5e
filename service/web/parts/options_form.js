// The form of the options.

import { byId } from "../dom.js";
import { t } from "../i18n.js";
import { NUMBERS } from "../options.js";

/** @typedef {import("../options.js").Options} Options */

export class OptionsForm {
  #form = byId("options", HTMLFormElement);
  #note = byId("options-note", HTMLElement);
  #options;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
    this.#form.addEventListener("input", () => {
      options.values = this.#read();
      this.#check();
    });
    this.#form.addEventListener("reset", (event) => {
      event.preventDefault();
      options.values = {};
      this.show();
    });
    this.#form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows the values that are chosen now. */
  show() {
    const { values } = this.#options;
    for (const name of ["mode", "keep", ...NUMBERS]) this.#field(name).value = String(values[name]);
    if (!this.#field("mode").value) this.#field("mode").value = "search";
    this.#checkbox.checked = Boolean(values.details);
    this.#check();
  }

  #read() {
    const texts = ["mode", "keep", ...NUMBERS].map((name) => [name, this.#field(name).value]);
    return { ...Object.fromEntries(texts), details: this.#checkbox.checked };
  }

  get #checkbox() {
    return /** @type {HTMLInputElement} */ (this.#field("details"));
  }

  /** @param {string} name */
  #field(name) {
    return /** @type {HTMLInputElement | HTMLSelectElement} */ (this.#form.elements.namedItem(name));
  }

  /** Marks values that are not used, and hides options of the other mode. */
  #check() {
    const { isSampling } = this.#options;
    for (const label of this.#form.querySelectorAll("[data-mode]")) {
      /** @type {HTMLElement} */ (label).hidden = (label.getAttribute("data-mode") === "sampling") !== isSampling;
    }
    const wrong = NUMBERS.filter((n) => this.#field(n).validity.badInput || !this.#options.isValid(n));
    for (const name of NUMBERS) this.#field(name).setAttribute("aria-invalid", String(wrong.includes(name)));
    this.#note.textContent = wrong.length ? t("optionsInvalid") : "";
  }
}
