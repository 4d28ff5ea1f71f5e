// A search in the place of a long menu of languages: a combobox over the select, which keeps the choice.
// As the pattern "combobox with list autocomplete" of the ARIA Authoring Practices.

import { byId, make } from "../dom.js";
import { locale, t } from "../i18n.js";
import { AUTO } from "../languages.js";
import { search } from "./language_names.js";

/** Puts a search in the place of each menu. */
export function searchLanguages() {
  for (const id of ["from", "to"]) new LanguageSearch(byId(id, HTMLSelectElement));
}

class LanguageSearch {
  #menu;
  #field;
  #list = make("ul", { role: "listbox" });
  #none = make("p", { class: "note", role: "status" });
  #box = make("div", { class: "found", hidden: "" }, this.#list, this.#none);
  /** @type {HTMLOptionElement[]} those of the menu, as the list shows them */
  #found = [];
  #active = 0;
  #isTyped = false;

  /** @param {HTMLSelectElement} menu in a label */
  constructor(menu) {
    this.#menu = menu;
    this.#list.id = `${menu.id}-found`;
    this.#field = make("input", {
      id: `${menu.id}-search`, class: "language", role: "combobox", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-controls": this.#list.id, "aria-expanded": "false",
    });
    this.#wire();
    this.show();
    menu.before(this.#field);
    menu.parentElement?.after(this.#box);
    if (document.activeElement === menu) this.#field.focus();
    menu.hidden = true;
    menu.addEventListener("settle", () => this.show());
  }

  /** Shows the menu's choice, unless people are searching. */
  show() {
    if (this.#box.hidden) this.#field.value = this.#menu.selectedOptions[0]?.text ?? "";
  }

  #wire() {
    const field = this.#field;
    field.addEventListener("focus", () => field.select());
    field.addEventListener("click", () => this.#open());
    field.addEventListener("input", () => {
      this.#isTyped = true;
      this.#find(field.value);
    });
    field.addEventListener("keydown", (event) => this.#press(event));
    field.addEventListener("blur", () => this.#close());
    this.#box.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    this.#list.addEventListener("click", (event) => {
      const item = /** @type {Element} */ (event.target).closest("li");
      this.#choose([...this.#list.children].indexOf(/** @type {Element} */ (item)));
      field.blur(); // a phone's keyboard goes
    });
  }

  /** Lists every language, from the chosen one. */
  #open() {
    if (!this.#box.hidden) return;
    this.#field.select();
    this.#find("");
    this.#activate(this.#found.findIndex((option) => option.selected));
  }

  #close() {
    this.#isTyped = false;
    this.#box.hidden = true;
    this.#field.setAttribute("aria-expanded", "false");
    this.#field.removeAttribute("aria-activedescendant");
    this.show();
  }

  /** @param {string} query */
  #find(query) {
    const isAuto = (/** @type {HTMLOptionElement} */ { value }) => Number(value === AUTO);
    const sorted = [...this.#menu.options].sort((a, b) => isAuto(b) - isAuto(a) || a.text.localeCompare(b.text, locale()));
    this.#found = search(sorted, query);
    this.#list.setAttribute("aria-label", this.#field.labels?.[0].querySelector("span")?.textContent ?? "");
    this.#list.replaceChildren(...this.#found.map(({ text, selected }, index) => {
      const item = make("li", { role: "option", id: `${this.#list.id}-${index}`, "aria-selected": "false" }, text);
      if (selected) item.setAttribute("aria-current", "true");
      return item;
    }));
    this.#none.textContent = this.#found.length ? "" : t("noLanguage");
    this.#box.hidden = false;
    this.#field.setAttribute("aria-expanded", String(this.#found.length > 0));
    this.#activate(0);
  }

  /** Marks the language that Enter chooses. @param {number} index */
  #activate(index) {
    this.#list.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = Math.max(0, Math.min(this.#found.length - 1, index));
    const item = this.#list.children[this.#active];
    if (!item) return this.#field.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", item.id);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.isComposing) return;
    const step = new Map([["ArrowDown", 1], ["ArrowUp", -1], ["PageDown", 10], ["PageUp", -10]]).get(event.key);
    const isOpen = !this.#box.hidden;
    if (step) {
      event.preventDefault();
      if (isOpen) this.#activate(this.#active + step);
      else this.#open();
    } else if (event.key === "Enter" && isOpen) this.#choose(this.#active);
    else if (event.key === "Tab" && this.#isTyped) this.#choose(this.#active);
    else if (event.key === "Escape" && isOpen) {
      this.#close();
      this.#field.select();
    }
  }

  /** @param {number} index of a language of the list; others choose nothing */
  #choose(index) {
    const option = this.#found[index];
    if (!option) return;
    this.#menu.value = option.value;
    this.#menu.dispatchEvent(new Event("change"));
    this.#close();
    this.#field.select();
  }
}
