// The model at work on one sentence: its attention, and its beam search.

import { ApiError, post } from "../api.js";
import { byId, make } from "../dom.js";
import { t } from "../i18n.js";
import { AttentionView } from "./attention_view.js";
import { SearchView } from "./search_view.js";

/** @typedef {import("../page.js").Page} Page */
/** @typedef {"attention" | "search"} View */

const FOLLOW_MILLISECONDS = 700;
const MOST_SENTENCES = 50;

export class Study {
  #panel = byId("panel-model", HTMLElement);
  #page;
  #isOpen = false;
  #timer = 0;
  /** @type {View} */
  #view = "attention";
  #index = 0;
  #shown = "";
  #asking = new AbortController();
  #body = make("div", { class: "study" });
  #note = make("p", { class: "empty", role: "status" });
  #menu = make("select", { class: "quiet" });

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
    this.#menu.addEventListener("change", () => {
      this.#index = Number(this.#menu.value);
      void this.#load();
    });
  }

  /** @param {boolean} isOpen */
  open(isOpen) {
    this.#isOpen = isOpen;
    if (!isOpen) return;
    this.#frame();
    this.#tell();
    void this.#load();
  }

  /** Shows the new translation, when nothing newer came for a moment. */
  follow() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (!this.#isOpen) return;
      this.#index = 0;
      this.#tell();
      void this.#load();
    }, FOLLOW_MILLISECONDS);
  }

  #frame() {
    const segments = make("fieldset", { class: "segments" }, make("legend", { class: "sr-only" }, t("studyView")));
    for (const view of /** @type {View[]} */ (["attention", "search"])) {
      const radio = make("input", { type: "radio", name: "study", value: view });
      radio.checked = view === this.#view;
      radio.addEventListener("change", () => {
        this.#view = view;
        void this.#load();
      });
      segments.append(make("label", {}, radio, make("span", {}, t(view === "attention" ? "attention" : "search_"))));
    }
    const sentence = make("label", {}, make("span", { class: "sr-only" }, t("studySentence")), this.#menu);
    this.#panel.replaceChildren(make("p", { class: "lead" }, t("studyLead")), make("div", { class: "row" }, segments, sentence), this.#note, this.#body);
    this.#shown = "";
  }

  #tell() {
    const sources = this.#page.sources().slice(0, MOST_SENTENCES);
    this.#menu.replaceChildren(...sources.map((text, index) => make("option", { value: String(index) }, shortened(text))));
    this.#menu.value = String(this.#index);
    this.#menu.hidden = sources.length < 2;
  }

  async #load() {
    const text = this.#page.sources()[this.#index];
    const { from: source, to: target } = this.#page.hop();
    const { answer, fields: asked, details } = this.#page.shown();
    const isTaken = answer?.isTaken && details?.sentences.length === 1 && !asked?.format && this.#view === "attention";
    const target_prefix = isTaken ? answer.translatedText : (asked?.target_prefix?.[this.#index] ?? "");
    const wanted = JSON.stringify([this.#view, text, source, target, target_prefix, document.documentElement.lang]);
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    this.#asking.abort();
    this.#asking = new AbortController();
    if (!text) return this.#say(t("studyNothing"));
    this.#body.setAttribute("aria-busy", "true");
    if (!this.#body.childElementCount) this.#say(t("studyLoading"));
    try {
      const fields = { q: text, source, target, target_prefix, details: this.#view };
      const answer = await post("translate", fields, this.#asking.signal);
      this.#show(answer.details[0].sentences[0]);
    } catch (error) {
      if (this.#asking.signal.aborted) return;
      this.#shown = "";
      this.#say(t("backFailed", { reason: error instanceof ApiError ? error.message : t("fileUnreachable") }));
    }
    this.#body.removeAttribute("aria-busy");
  }

  /** @param {string} text */
  #say(text) {
    this.#note.hidden = false;
    this.#note.textContent = text;
    this.#body.replaceChildren();
  }

  /** @param {any} sentence a SentenceDetail with attention or search */
  #show(sentence) {
    if (!sentence) return this.#say(t("studyNothing"));
    this.#note.hidden = true;
    const view = sentence.attention ? new AttentionView(sentence.attention) : new SearchView(sentence.search, sentence);
    this.#body.replaceChildren(view.root);
    view.draw();
  }
}

/** @param {string} text */
function shortened(text) {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
