// The editor of the glossary of the chosen languages.

import { byId, make } from "../dom.js";
import { MOST_TERMS, NAME, all, termsOf } from "../glossary.js";
import { number, t } from "../i18n.js";
import { AUTO, nameOf } from "../languages.js";
import { onChange, save } from "../storage.js";

/**
 * @typedef {import("../page.js").Page} Page
 * @typedef {import("../glossary.js").Term} Term
 */

const MOST_CHARACTERS = 200;

export class GlossaryEditor {
  #panel = byId("panel-glossary", HTMLElement);
  #page;
  #shown = "";
  #rows = make("ul", { class: "terms" });
  #note = make("p", { class: "note", role: "status" });

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    this.#rows.addEventListener("input", () => this.#keep());
    this.#rows.addEventListener("click", (event) => this.#clicked(event));
    this.#rows.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) this.#add({ source: "", target: "" }, true);
    });
    onChange(NAME, () => { // in another tab
      this.#shown = "";
      this.show();
    });
  }

  /** Shows the terms of the languages that are chosen now. */
  show() {
    const { from, to } = this.#page.pair();
    const isPossible = this.#page.takesGlossary(from, to);
    const state = `${document.documentElement.lang} ${from} ${to} ${isPossible}`;
    if (state === this.#shown) return;
    this.#shown = state;
    const names = { from: nameOf(from), to: nameOf(to) };
    if (!isPossible) {
      const why = from === AUTO ? t("glossaryChoose") : t("glossaryPivot", names);
      this.#panel.replaceChildren(make("p", { class: "empty" }, why));
      return;
    }
    const add = make("button", { type: "button", class: "tool" }, t("glossaryAdd"));
    add.addEventListener("click", () => this.#add({ source: "", target: "" }, true));
    const clear = make("button", { type: "button", class: "tool" }, t("glossaryClear"));
    clear.addEventListener("click", () => {
      this.#rows.replaceChildren();
      this.#add({ source: "", target: "" }, true);
      this.#keep();
    });
    this.#rows.replaceChildren();
    for (const term of termsOf(from, to)) this.#add(term);
    if (!this.#rows.children.length) this.#add({ source: "", target: "" });
    this.#panel.replaceChildren(
      make("p", { class: "lead" }, t("glossaryLead", names)),
      this.#rows,
      make("div", { class: "row" }, add, clear),
      this.#note);
    this.#note.textContent = "";
  }

  /**
   * @param {{source: string, target: string}} term
   * @param {boolean} [isFocused]
   */
  #add({ source, target }, isFocused = false) {
    const { from, to } = this.#page.pair();
    if (this.#rows.children.length >= MOST_TERMS) {
      this.#note.textContent = t("glossaryFull", { most: number(MOST_TERMS) });
      return;
    }
    const field = (/** @type {string} */ value, /** @type {string} */ lang) => make("input", {
      type: "text", lang, dir: "auto", value, maxlength: String(MOST_CHARACTERS), autocomplete: "off", spellcheck: "false",
      "aria-label": t("glossaryTerm", { language: nameOf(lang) }), placeholder: nameOf(lang),
    });
    const remove = make("button", { type: "button", class: "icon", "aria-label": t("remove") }, "×");
    const fields = [field(source, from), field(target, to)];
    this.#rows.append(make("li", {}, fields[0], make("span", { "aria-hidden": "true" }, "→"), fields[1], remove));
    if (isFocused) fields[0].focus();
  }

  /** @param {Event} event */
  #clicked(event) {
    const button = event.target;
    if (!(button instanceof HTMLButtonElement)) return;
    const row = /** @type {HTMLElement} */ (button.closest("li"));
    const next = /** @type {HTMLElement | null} */ (row.nextElementSibling ?? row.previousElementSibling);
    row.remove();
    if (!this.#rows.children.length) this.#add({ source: "", target: "" });
    (next ?? this.#rows).querySelector("input")?.focus();
    this.#keep();
  }

  #keep() {
    const { from, to } = this.#page.pair();
    const rows = [...this.#rows.children].map((row) => [...row.querySelectorAll("input")].map(({ value }) => value));
    const terms = rows.map(([source, target]) => ({ source, target })).filter(({ source, target }) => source || target);
    const isKept = keepTerms(from, to, terms);
    this.#note.textContent = isKept ? "" : t("historyLost");
    this.#page.change();
  }
}

/**
 * Keeps the terms of a pair; returns whether the browser still has them on the next visit.
 * @param {string} from
 * @param {string} to
 * @param {Term[]} terms
 */
function keepTerms(from, to, terms) {
  const { [`${from} ${to}`]: _, ...others } = all();
  return save(NAME, terms.length ? { ...others, [`${from} ${to}`]: terms } : others);
}
