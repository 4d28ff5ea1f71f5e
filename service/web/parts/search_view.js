// The beam search of a sentence: a tree that grows, its candidates, and the likeliest next tokens.

import { make } from "../dom.js";
import { number, t } from "../i18n.js";
import { SearchTree } from "./search_tree.js";
import { aside, nameOfFate, share, stepper, visible } from "./study_tools.js";

/**
 * @typedef {{parent: number, token: string, log_prob: number, total: number, fate: "kept" | "ended" | "dropped", place?: number | null}} Candidate
 * @typedef {{candidates: Candidate[], likeliest: [string, number][][]}} SearchStep
 * @typedef {{beam_size: number, score: number, path: number[], agrees: boolean, steps: SearchStep[]}} Search
 */

export class SearchView {
  #search;
  #tree;
  #stepper;
  #caption = make("p", { class: "told", "aria-live": "polite" });
  #table = make("table", { class: "candidates" });
  #next = make("div", { class: "likeliest" });
  root;

  /**
   * @param {Search} search
   * @param {import("../messages.js").SentenceDetail} sentence
   */
  constructor(search, sentence) {
    this.#search = search;
    this.#stepper = stepper((step) => this.#show(step));
    this.#stepper.set(search.steps.length);
    this.#tree = new SearchTree(search, (step) => this.#show(step));
    const found = t(search.agrees ? "searchFound" : "searchDiffers", { text: sentence.target, score: number(search.score, { maximumFractionDigits: 2 }) });
    this.root = make("div", { class: "search" },
      make("div", {}, make("p", {}, found), this.#stepper.root, this.#caption, this.#tree.root, legend()),
      make("aside", {}, ...aside("beam")),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("candidates") }, this.#table),
      make("div", {}, this.#next, make("aside", {}, ...aside("likeliest"))));
  }

  draw() {
    this.#show(0);
  }

  /** @param {number} step */
  #show(step) {
    const { candidates } = this.#search.steps[step];
    const kept = candidates.filter(({ fate }) => fate === "kept").length;
    const ended = candidates.filter(({ fate }) => fate === "ended").length;
    this.#caption.textContent = t("searchStep", { step: number(step + 1), kept: number(kept), ended: number(ended), dropped: number(candidates.length - kept - ended) });
    this.#tree.grow(step);
    this.#stepper.show(step, t("stepOf", { step: number(step + 1), count: number(this.#search.steps.length) }));
    this.#fillTable(step);
    this.#fillNext(step);
  }

  /** @param {number} step */
  #fillTable(step) {
    const best = this.#search.path[step];
    const head = ["hypothesis", "probability", "logProbability", "fate"].map((name) => make("th", { scope: "col" }, t(/** @type {"fate"} */ (name))));
    const rows = this.#search.steps[step].candidates.map((candidate, index) => make("tr", { class: `is-${candidate.fate}${index === best ? " is-best" : ""}` },
      make("th", { scope: "row" }, make("bdi", {}, this.#tree.textOf(step, index))),
      make("td", {}, share(Math.exp(candidate.log_prob))),
      make("td", {}, number(candidate.total, { maximumFractionDigits: 2, minimumFractionDigits: 2 })),
      make("td", {}, nameOfFate(candidate.fate))));
    this.#table.replaceChildren(make("caption", {}, t("candidates")), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  }

  /** @param {number} step */
  #fillNext(step) {
    const path = this.#search.path;
    const at = Math.min(step, path.length - 1);
    const parent = this.#search.steps[at].candidates[path[at]]?.parent ?? 0;
    const before = at ? this.#tree.textOf(at - 1, path[at - 1]) : t("start");
    const chosen = this.#search.steps[at].candidates[path[at]]?.token;
    const rows = (this.#search.steps[at].likeliest[parent] ?? []).map(([token, probability]) => make("li", token === chosen ? { class: "is-best" } : {},
      make("bdi", {}, visible(token)), make("meter", { min: "0", max: "1", value: String(probability), "aria-label": visible(token) }), make("span", { class: "number" }, share(probability))));
    this.#next.replaceChildren(make("h3", {}, t("likeliestAfter"), " ", make("bdi", {}, before)), make("ul", {}, ...rows));
  }
}

function legend() {
  const fates = /** @type {const} */ (["kept", "ended", "dropped"]);
  return make("ul", { class: "legend" }, ...fates.map((fate) => make("li", { class: `is-${fate}` }, nameOfFate(fate))), make("li", { class: "is-best" }, t("best")));
}
