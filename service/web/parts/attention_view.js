// The attention of a sentence by layer and head, as heat maps that are stepped through by token.

import { make } from "../dom.js";
import { number, t } from "../i18n.js";
import { drawLarge, drawSmall, rowAt } from "./heat_map.js";
import { aside, share as shown, stepper, visible } from "./study_tools.js";

/**
 * @typedef {"encoder" | "decoder" | "memory"} Kind
 * @typedef {{source_tokens: string[], target_tokens: string[]} & Record<Kind, number[][][][]>} Attention
 */

const KINDS = /** @type {Kind[]} */ (["memory", "encoder", "decoder"]);
const NUM_TOLD = 4;
const SMALL = 50;

export class AttentionView {
  #attention;
  /** @type {Kind} */
  #kind = "memory";
  #layer = 0;
  #head = 0;
  #row = 0;
  #canvas = make("canvas", { role: "img" });
  #heads = make("div", { class: "heads" });
  #told = make("p", { class: "told", "aria-live": "polite" });
  #table = make("table");
  #details = make("details", { class: "matrix" });
  #text = make("aside");
  #stepper;
  root;

  /** @param {Attention} attention */
  constructor(attention) {
    this.#attention = attention;
    this.#layer = attention.memory.length - 1;
    this.#stepper = stepper((row) => this.#choose(row));
    const kinds = make("fieldset", { class: "segments" }, make("legend", { class: "sr-only" }, t("attentionKind")));
    for (const kind of KINDS) {
      const radio = make("input", { type: "radio", name: "attention-kind", value: kind });
      radio.checked = kind === this.#kind;
      radio.addEventListener("change", () => {
        this.#kind = kind;
        this.#layer = Math.min(this.#layer, attention[kind].length - 1);
        this.#row = 0;
        this.draw();
      });
      kinds.append(make("label", {}, radio, make("span", {}, t(kind))));
    }
    this.#details.append(make("summary", {}, t("attentionTable")), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("attentionTable") }, this.#table));
    this.#details.addEventListener("toggle", () => this.#fillTable());
    this.#canvas.addEventListener("click", (event) => {
      const row = rowAt(this.#canvas, event.offsetY, this.#rows.length);
      if (row >= 0) this.#choose(row);
    });
    const picture = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("attention") }, this.#canvas);
    this.root = make("div", { class: "attention" },
      make("div", {}, kinds, this.#heads, this.#stepper.root, this.#told, picture, this.#details), this.#text);
  }

  get #matrix() {
    return this.#attention[this.#kind][this.#layer][this.#head];
  }

  get #rows() {
    const { source_tokens: source, target_tokens: target } = this.#attention;
    return (this.#kind === "encoder" ? source : target).map(visible);
  }

  get #columns() {
    const { source_tokens: source, target_tokens: target } = this.#attention;
    if (this.#kind === "decoder") return [t("start"), ...target.slice(0, -1).map(visible)];
    return source.map(visible);
  }

  draw() {
    const layers = this.#attention[this.#kind];
    this.#heads.replaceChildren(...layers.map((heads, layer) => make("div", { role: "group", "aria-label": t("layer", { layer: number(layer + 1) }) },
      make("span", { class: "note", "aria-hidden": "true" }, t("layer", { layer: number(layer + 1) })),
      ...heads.map((matrix, head) => this.#thumbnail(matrix, layer, head)))));
    this.#text.replaceChildren(...aside(this.#kind));
    this.#stepper.set(this.#rows.length);
    this.#choose(this.#row);
  }

  /**
   * @param {number[][]} matrix
   * @param {number} layer
   * @param {number} head
   */
  #thumbnail(matrix, layer, head) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const isChosen = layer === this.#layer && head === this.#head;
    const name = t("layerHead", { layer: number(layer + 1), head: number(head + 1) });
    const button = make("button", { type: "button", "aria-pressed": String(isChosen), "aria-label": name, title: name }, canvas);
    drawSmall(canvas, matrix, SMALL);
    button.addEventListener("click", () => {
      this.#layer = layer;
      this.#head = head;
      for (const other of this.#heads.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      this.#choose(this.#row);
    });
    return button;
  }

  /** @param {number} row */
  #choose(row) {
    this.#row = row;
    const columns = this.#columns, rows = this.#rows;
    drawLarge(this.#canvas, this.#matrix, rows, columns, row);
    const place = t("layerHead", { layer: number(this.#layer + 1), head: number(this.#head + 1) });
    this.#canvas.setAttribute("aria-label", t("attentionPicture", { kind: t(this.#kind), place, rows: number(rows.length), columns: number(columns.length) }));
    const ranked = this.#matrix[row].map((share, column) => ({ share, token: columns[column] })).sort((a, b) => b.share - a.share);
    const most = ranked.slice(0, NUM_TOLD).map(({ share, token }) => `${token} ${shown(share)}`);
    this.#told.textContent = t("attentionRow", { token: rows[row], most: most.join(" · ") });
    this.#stepper.show(row, rows[row]);
    this.#fillTable();
  }

  #fillTable() {
    if (!this.#details.open) return;
    const columns = this.#columns, rows = this.#rows;
    const head = make("tr", {}, make("td"), ...columns.map((token) => make("th", { scope: "col" }, token)));
    const body = this.#matrix.map((row, y) => make("tr", {}, make("th", { scope: "row" }, rows[y]),
      ...row.map((share) => make("td", {}, number(share, { maximumFractionDigits: 2 })))));
    this.#table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  }
}
