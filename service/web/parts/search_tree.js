// The candidates of a beam search as a tree that grows to the right.

import { make } from "../dom.js";
import { t } from "../i18n.js";
import { visible } from "./study_tools.js";

/** @typedef {import("./search_view.js").Search} Search */
/** @typedef {{x: number, y: number}} Point */

const WIDTH = 104, HEIGHT = 34, BOX_WIDTH = 84, BOX_HEIGHT = 26, MOST_LETTERS = 9;
const SVG = "http://www.w3.org/2000/svg";
const START = "▁";

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

export class SearchTree {
  #search;
  #picture;
  /** @type {SVGElement[]} */
  #groups = [];
  /** @type {number[][]} for each step the index of the candidate that has each place */
  #indexOf;
  root;

  /**
   * @param {Search} search
   * @param {(step: number) => void} chosen called when a step is clicked
   */
  constructor(search, chosen) {
    this.#search = search;
    this.#indexOf = search.steps.map(({ candidates }) => {
      /** @type {number[]} */
      const places = [];
      candidates.forEach(({ place }, index) => { if (place !== null && place !== undefined) places[place] = index; });
      return places;
    });
    const most = Math.max(...search.steps.map(({ candidates }) => candidates.length));
    const width = (search.steps.length + 1) * WIDTH, height = most * HEIGHT + 8;
    this.#picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": t("treePicture") });
    this.#picture.append(this.#box({ x: 0, y: 0 }, t("start"), "is-kept is-best"));
    search.steps.forEach((_, step) => {
      const group = this.#group(step);
      group.addEventListener("click", () => chosen(step));
      this.#groups.push(group);
      this.#picture.append(group);
    });
    this.root = make("div", { class: "scroll tree", tabindex: "0", role: "region", "aria-label": t("treePicture") }, this.#picture);
  }

  /**
   * Shows the tree until this step.
   * @param {number} step
   */
  grow(step) {
    this.#groups.forEach((group, index) => {
      group.classList.toggle("is-hidden", index > step);
      group.classList.toggle("is-now", index === step);
    });
    const right = (step + 2) * WIDTH;
    const { scrollLeft, clientWidth } = this.root;
    if (right > scrollLeft + clientWidth || right - 2 * WIDTH < scrollLeft) this.root.scrollLeft = Math.max(0, right - clientWidth);
  }

  /**
   * The text of a candidate with all before it.
   * @param {number} step
   * @param {number} index
   */
  textOf(step, index) {
    let text = "";
    for (let at = step, current = index; at >= 0; at -= 1) {
      const { token, parent } = this.#search.steps[at].candidates[current];
      text = (token === "</s>" ? " ⏹" : token) + text;
      current = at ? this.#indexOf[at - 1][parent] : 0;
    }
    return text.replaceAll(START, " ").trim();
  }

  /** @param {number} step */
  #group(step) {
    const { path, steps } = this.#search;
    const group = svg("g", {});
    steps[step].candidates.forEach((candidate, index) => {
      const to = { x: step + 1, y: index };
      const from = step ? { x: step, y: this.#indexOf[step - 1][candidate.parent] } : { x: 0, y: 0 };
      const kind = `is-${candidate.fate}${path[step] === index ? " is-best" : ""}`;
      group.append(this.#edge(from, to, kind), this.#box(to, visible(candidate.token), kind));
    });
    return group;
  }

  /**
   * @param {Point} from
   * @param {Point} to
   * @param {string} kind
   */
  #edge(from, to, kind) {
    const x1 = from.x * WIDTH + BOX_WIDTH + 4, x2 = to.x * WIDTH + 4;
    const y1 = from.y * HEIGHT + HEIGHT / 2 + 4, y2 = to.y * HEIGHT + HEIGHT / 2 + 4;
    const middle = (x1 + x2) / 2;
    return svg("path", { class: `edge ${kind}`, d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  }

  /**
   * @param {Point} at
   * @param {string} token
   * @param {string} kind
   */
  #box(at, token, kind) {
    const x = at.x * WIDTH + 4, y = at.y * HEIGHT + 4 + (HEIGHT - BOX_HEIGHT) / 2;
    const shown = token.length > MOST_LETTERS ? `${token.slice(0, MOST_LETTERS - 1)}…` : token;
    return svg("g", { class: `node ${kind}` },
      svg("title", {}, token),
      svg("rect", { x, y, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 7 }),
      svg("text", { x: x + BOX_WIDTH / 2, y: y + BOX_HEIGHT / 2, "text-anchor": "middle", "dominant-baseline": "central" }, shown));
  }
}
