// The running batches over time: each sentence is a bar from where it joins to where it leaves.

import { make } from "../dom.js";
import { number, t } from "../i18n.js";
import { colours, prepared } from "./heat_map.js";
import { Poll } from "./poll.js";

/**
 * @typedef {[number: number, rows: number, tokens: number, steps: number, joined: number, left: number | null]} Numbers times in the server's milliseconds
 * @typedef {{now: number, models: Record<string, Numbers[][]>, waiting: Record<string, number>}} View
 * @typedef {{place: number, rows: number, steps: number, joined: number, left: number | null, stops: [number, number][], seen: number}} Bar
 *   times in the server's milliseconds; stops: when it was set aside
 */

const PERIOD_MILLISECONDS = 250;
const SPAN_MILLISECONDS = 12_000;
const BAR_HEIGHT = 9, LEAST_PLACES = 8, MOST_PLACES = 64, LABEL_HEIGHT = 18;
const RETRY_MILLISECONDS = 3000;

export class Batches {
  /** @type {Map<string, Map<string, Bar>>} by model, then by worker and number */
  #bars = new Map();
  /** @type {Map<string, {root: HTMLElement, canvas: HTMLCanvasElement, span: HTMLElement, told: HTMLElement}>} */
  #pictures = new Map();
  poll = new Poll(() => this.#read());

  async #read() {
    try {
      const answer = await fetch(new URL("page/engine.json", document.baseURI));
      if (!answer.ok) throw new Error(String(answer.status));
      const view = await answer.json();
      for (const [model, workers] of Object.entries(view.models)) this.#take(model, workers, view);
      return PERIOD_MILLISECONDS;
    } catch {
      return RETRY_MILLISECONDS;
    }
  }

  /**
   * @param {string} model
   * @param {Numbers[][]} workers
   * @param {View} view
   */
  #take(model, workers, view) {
    const bars = this.#bars.get(model) ?? new Map();
    this.#bars.set(model, bars);
    const { now } = view;
    workers.forEach((entries, worker) => {
      for (const numbers of entries) note(bars, `${worker}:${numbers[0]}:${numbers[4]}`, numbers, now);
    });
    for (const [key, bar] of bars) {
      if (bar.left === null && bar.seen < now) bar.left = bar.seen;
      if ((bar.left ?? now) < now - SPAN_MILLISECONDS) bars.delete(key);
    }
    this.#draw(model, bars, now, view.waiting[model] ?? 0);
  }

  /**
   * @param {string} model
   * @param {Map<string, Bar>} bars
   * @param {number} now
   * @param {number} waiting
   */
  #draw(model, bars, now, waiting) {
    const { root, canvas, told } = this.#picture(model);
    root.hidden = !bars.size;
    const running = [...bars.values()].filter(({ left }) => left === null);
    const aside = running.filter(({ stops }) => (stops.at(-1)?.[1] ?? -1) >= now).length;
    const text = t("batchTold", { running: number(running.length), aside: number(aside), waiting: number(waiting) });
    told.textContent = text;
    canvas.setAttribute("aria-label", `${model}: ${text}`);
    const count = Math.min(MOST_PLACES, Math.max(LEAST_PLACES, ...[...bars.values()].map(({ place }) => place + 1)));
    const width = Math.max(200, root.clientWidth), height = count * BAR_HEIGHT + LABEL_HEIGHT;
    const context = prepared(canvas, width, height);
    const { accent, muted, line } = colours();
    const xOf = (/** @type {number} */ time) => Math.max(0, width - ((now - time) / SPAN_MILLISECONDS) * width);
    context.strokeStyle = line;
    context.fillStyle = muted;
    context.font = "11px system-ui, sans-serif";
    for (let second = 2; second < SPAN_MILLISECONDS / 1000; second += 2) {
      const x = Math.round(xOf(now - second * 1000)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - LABEL_HEIGHT);
      context.stroke();
      context.fillText(t("secondsAgo", { seconds: number(second) }), x + 3, height - 4);
    }
    for (const bar of bars.values()) {
      if (bar.place >= MOST_PLACES) continue;
      const left = xOf(bar.joined), right = xOf(bar.left ?? now), y = bar.place * BAR_HEIGHT + 1;
      context.fillStyle = accent;
      context.globalAlpha = bar.left === null ? 1 : 0.6;
      context.fillRect(left, y, Math.max(2, right - left - 1), BAR_HEIGHT - 2);
      for (const [from, to] of bar.stops) {
        context.globalAlpha = 1;
        context.clearRect(xOf(from), y + 2, Math.max(1, xOf(to) - xOf(from)), BAR_HEIGHT - 6);
      }
      context.globalAlpha = 1;
    }
  }

  /** The picture of a model's batch. @param {string} model */
  pictureOf(model) {
    const { root, span } = this.#picture(model);
    span.textContent = t("batchSpan");
    return root;
  }

  /** @param {string} model */
  #picture(model) {
    const known = this.#pictures.get(model);
    if (known) return known;
    const canvas = make("canvas", { role: "img" }), span = make("p", { class: "note" }), told = make("p", { class: "note" });
    const made = { root: make("div", { class: "batch", hidden: "" }, span, canvas, told), canvas, span, told };
    this.#pictures.set(model, made);
    return made;
  }
}

/**
 * Notes what a sentence does now.
 * @param {Map<string, Bar>} bars
 * @param {string} key
 * @param {Numbers} numbers
 * @param {number} now
 */
function note(bars, key, [, rows, , steps, joined, left], now) {
  const bar = bars.get(key);
  if (!bar) {
    bars.set(key, { place: freePlace(bars, joined), rows, steps, joined, left, stops: [], seen: now });
    return;
  }
  if (steps && steps === bar.steps && left === null) bar.stops.push([bar.seen, now]);
  Object.assign(bar, { steps, left, seen: now });
}

/**
 * The first place from above that no sentence has since it joined.
 * @param {Map<string, Bar>} bars
 * @param {number} joined
 */
function freePlace(bars, joined) {
  const taken = new Set([...bars.values()].filter(({ left }) => left === null || left > joined).map(({ place }) => place));
  let place = 0;
  while (taken.has(place)) place += 1;
  return place;
}
