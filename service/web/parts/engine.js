// The engine's numbers, read while the panel is open and the page is visible.

import { byId, make } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { Batches } from "./batches.js";
import { Poll } from "./poll.js";

/** @typedef {{name: string, labels: Record<string, string>, value: number}} Sample */
/** @typedef {{seconds: number, tokens: number}} Reading */

const PERIOD_MILLISECONDS = 2000;
const MOST_READINGS = 31;
const LINE = /^dragoman_(\w+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/**
 * The samples in Prometheus' text format.
 * @param {string} text
 * @returns {Sample[]}
 */
export function parse(text) {
  return [...text.matchAll(LINE)].map(([, name, labels, value]) => ({
    name,
    labels: Object.fromEntries([...(labels ?? "").matchAll(LABEL)].map(([, key, v]) => [key, v])),
    value: value === "+Inf" ? Infinity : Number(value),
  }));
}

/**
 * The bound that this share of a histogram's observations is under; null without observations.
 * @param {Sample[]} samples
 * @param {string} name
 * @param {number} share
 */
export function quantile(samples, name, share) {
  const buckets = samples
    .filter((s) => s.name === `${name}_bucket`)
    .map((s) => ({ bound: s.labels.le === "+Inf" ? Infinity : Number(s.labels.le), count: s.value }))
    .sort((a, b) => a.bound - b.bound);
  const total = buckets.at(-1)?.count ?? 0;
  return total ? (buckets.find((b) => b.count >= share * total)?.bound ?? null) : null;
}

/**
 * The value of all processes together.
 * @param {Sample[]} samples
 */
const sum = (samples) => samples.reduce((total, s) => total + s.value, 0);

export class EnginePanel {
  #root = make("div", { id: "engine" });
  #none = make("p", { class: "empty", id: "no-engine", role: "status", hidden: "" });
  #lead = make("p", { class: "lead" });
  #link = make("a", { href: "metrics" });
  #batches = new Batches();
  #poll = new Poll(() => this.#read());
  /** @type {Map<string, Reading[]>} */
  #readings = new Map();

  constructor() {
    const panel = byId("panel-engine", HTMLElement);
    panel.replaceChildren(this.#lead, this.#none, this.#root, make("p", {}, this.#link));
  }

  /** @param {boolean} isOpen */
  open(isOpen) {
    this.#lead.textContent = t("engineLead");
    this.#link.textContent = t("metricsLink");
    this.#batches.poll.open(isOpen);
    this.#poll.open(isOpen);
  }

  async #read() {
    let samples = /** @type {Sample[]} */ ([]);
    try {
      const answer = await fetch(new URL("page/engine.txt", document.baseURI));
      if (answer.ok) samples = parse(await answer.text());
    } catch {
      // The server is away: the panel says so below.
    }
    const models = [...new Map(samples.filter((s) => s.name === "model_info").map((s) => [s.labels.model, s])).values()];
    this.#none.hidden = models.length > 0;
    this.#link.hidden = !models.length;
    this.#none.textContent = models.length ? "" : t("engineMissing");
    this.#root.replaceChildren(...models.map((model) => this.#model(model, samples)));
    return PERIOD_MILLISECONDS;
  }

  /**
   * @param {Sample} info
   * @param {Sample[]} samples
   */
  #model(info, samples) {
    const { model, device, precision } = info.labels;
    const own = samples.filter((s) => s.labels.model === model);
    const value = (/** @type {string} */ name) => sum(own.filter((s) => s.name === name));
    const readings = this.#note(model, value("target_tokens_total"));
    const title = make("h3", {}, model, make("span", {}, [device, precision].filter(Boolean).join(" · ")));
    const gauges = make("dl", { class: "gauges" },
      gauge(t("running"), value("running"), value("slots")),
      gauge(t("rows"), value("rows_used"), value("rows")),
      gauge(t("waiting"), value("waiting")),
      gauge(t("speed"), rates(readings).at(-1) ?? 0),
      duration(t("firstToken"), quantile(own, "time_to_first_token_seconds", 0.5)),
      duration(t("slowToken"), quantile(own, "time_to_first_token_seconds", 0.95)),
      duration(t("slowestToken"), quantile(own, "time_to_first_token_seconds", 0.99)),
      duration(t("step"), quantile(own, "decode_step_seconds", 0.5)),
      share(t("cacheHits"), own));
    const pictures = [...(Math.max(...rates(readings)) > 0 ? [spark(rates(readings))] : []), this.#batches.pictureOf(model)];
    return make("article", { class: "model" }, title, gauges, ...pictures);
  }

  /**
   * Adds a reading; returns the last minute's.
   * @param {string} model
   * @param {number} tokens
   */
  #note(model, tokens) {
    const before = this.#readings.get(model) ?? [];
    const readings = [...before, { seconds: performance.now() / 1000, tokens }].slice(-MOST_READINGS);
    this.#readings.set(model, readings);
    return readings;
  }
}

/**
 * Tokens a second between two readings each.
 * @param {Reading[]} readings
 */
function rates(readings) {
  return readings.slice(1).map((now, index) => {
    const then = readings[index];
    return Math.max(0, (now.tokens - then.tokens) / (now.seconds - then.seconds));
  });
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} [most]
 */
function gauge(name, value, most) {
  const shown = make("dd", {}, `${number(value, { maximumFractionDigits: 0 })} `);
  if (most) {
    const meter = make("meter", { min: "0", max: String(most), value: String(value), "aria-label": name });
    shown.append(make("small", {}, t("of", { most: number(most) })), meter);
  }
  return make("div", {}, make("dt", {}, name), shown);
}

/**
 * @param {string} name
 * @param {number | null} seconds
 */
function duration(name, seconds) {
  const text = seconds === null ? "–" : `${number(seconds * 1000, { maximumFractionDigits: 1 })} ms`;
  return make("div", {}, make("dt", {}, name), make("dd", {}, text));
}

/**
 * The share of sentences that were in the cache or computed for another request.
 * @param {string} name
 * @param {Sample[]} samples
 */
function share(name, samples) {
  const lookedUp = samples.filter((s) => s.name === "looked_up_total");
  const total = sum(lookedUp), found = sum(lookedUp.filter(({ labels }) => labels.result !== "miss"));
  return make("div", {}, make("dt", {}, name), make("dd", {}, total ? percent(found / total) : "–"));
}

/**
 * A line of the rates.
 * @param {number[]} values
 */
function spark(values) {
  const most = Math.max(1, ...values);
  const points = values.map((v, i) => `${(i / (MOST_READINGS - 2)) * 100},${38 - (v / most) * 36}`);
  const mean = values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const label = t("perSecond", { count: number(mean, { maximumFractionDigits: 0 }) });
  for (const [key, value] of [["viewBox", "0 0 100 40"], ["preserveAspectRatio", "none"], ["class", "spark"], ["role", "img"], ["aria-label", label]]) {
    svg.setAttribute(key, value);
  }
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}
