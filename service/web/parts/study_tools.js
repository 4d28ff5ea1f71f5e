// What the pictures of the model share: a stepper, a text beside them, and how tokens are written.

import { make } from "../dom.js";
import { number, t } from "../i18n.js";

const SPACE = "▁", PICTURES = 0x2400; // of control characters
const PLAY_MILLISECONDS = 900;

/** A token as people can read it. @param {string} token */
export function visible(token) {
  if (token === "</s>") return t("endToken");
  if (token === "<s>") return t("start");
  const shown = token.replaceAll(SPACE, "␣").replace(/\s/g, "␣");
  return shown.replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(PICTURES + c.charCodeAt(0))) || "␣";
}

/** A probability, also a small one. @param {number} probability */
export function share(probability) {
  const digits = probability < 0.1 ? { maximumSignificantDigits: 1 } : { maximumFractionDigits: 0 };
  return number(probability, { style: "percent", ...(probability < 0.0001 ? { maximumFractionDigits: 0 } : digits) });
}

/** @param {"kept" | "ended" | "dropped"} fate */
export function nameOfFate(fate) {
  return t(/** @type {const} */ ({ kept: "fateKept", ended: "fateEnded", dropped: "fateDropped" })[fate]);
}

/**
 * The text beside a picture: what it shows, the paper's section, and the file that does it.
 * @param {"encoder" | "decoder" | "memory" | "beam" | "likeliest"} name
 */
export function aside(name) {
  const { section, file } = PLACES[name];
  return [
    make("p", {}, t(/** @type {"aboutMemory"} */ (`about${name[0].toUpperCase()}${name.slice(1)}`))),
    make("p", { class: "note" }, t("paper", { section }), make("br"), t("file"), " ", make("code", {}, file)),
  ];
}

const PLACES = {
  encoder: { section: "3.2.2, 3.2.3", file: "model/network/layers.py" },
  decoder: { section: "3.2.3", file: "model/network/layers.py" },
  memory: { section: "3.2.3", file: "model/network/attention_maps.py" },
  beam: { section: "6.1", file: "model/backends/pytorch/search.py" },
  likeliest: { section: "3.4", file: "model/backends/pytorch/rows.py" },
};

/**
 * Buttons and a slider that walk through steps, and play them.
 * @param {(step: number) => void} act
 */
export function stepper(act) {
  let count = 1, at = 0, timer = 0;
  const slider = make("input", { type: "range", min: "0", step: "1", "aria-label": t("stepper") });
  const button = (/** @type {string} */ name, /** @type {string} */ sign) => make("button", { type: "button", class: "icon", "aria-label": name, title: name }, sign);
  const back = button(t("stepBack"), "‹"), forth = button(t("stepForth"), "›"), play = button(t("play"), "▸");
  const label = make("span", { class: "note number" });
  const go = (/** @type {number} */ step) => act(Math.max(0, Math.min(count - 1, step)));
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▸";
    play.setAttribute("aria-label", t("play"));
  };
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  back.addEventListener("click", () => { stop(); go(at - 1); });
  forth.addEventListener("click", () => { stop(); go(at + 1); });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (at === count - 1) go(0);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", t("pause"));
    timer = setInterval(() => {
      if (at >= count - 1 || !play.isConnected) stop();
      else go(at + 1);
    }, PLAY_MILLISECONDS);
  });
  return {
    root: make("div", { class: "stepper" }, back, play, forth, slider, label),
    /** @param {number} steps */
    set(steps) {
      stop();
      count = steps;
      slider.max = String(steps - 1);
    },
    /**
     * @param {number} step
     * @param {string} name
     */
    show(step, name) {
      at = step;
      slider.value = String(step);
      slider.setAttribute("aria-valuetext", name);
      label.textContent = t("stepOf", { step: number(step + 1), count: number(count) });
    },
  };
}
