// The panel of sentences: what the model says about each, and the translation back.

import { post } from "../api.js";
import { byId, make } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { isOneWord, translationsOf } from "./one_word.js";
import { isDoubtful } from "./spans.js";

/**
 * @typedef {import("./spans.js").Sentence} Sentence
 * @typedef {{
 *   source: string, target: string, from: string, to: string, isFormatted: boolean, sentences: Sentence[],
 * }} Explained
 */

const MOST_SHOWN = 20;
const LOOK_UP_MILLISECONDS = 700;

export class SentencePanel {
  #body = byId("sentences-body", HTMLElement);
  #empty = byId("no-sentences", HTMLElement);
  #list = byId("sentences", HTMLElement);
  #all = byId("all-sentences", HTMLButtonElement);
  #legend = byId("legend", HTMLElement);
  #backText = byId("back-text", HTMLElement);
  #back = byId("back", HTMLButtonElement);
  /** @type {Explained | null} */
  #explained = null;
  #timer = 0;

  constructor() {
    this.#all.addEventListener("click", () => {
      this.#show(Infinity);
      this.#list.focus();
    });
    this.#back.addEventListener("click", () => void this.#translateBack());
  }

  /**
   * Shows a translation's sentences, or with null nothing.
   * @param {Explained | null} explained
   * @param {boolean} canGoBack
   */
  show(explained, canGoBack) {
    this.#explained = explained;
    this.#body.hidden = !explained;
    this.#empty.hidden = Boolean(explained);
    this.#back.disabled = !canGoBack;
    this.#backText.textContent = "";
    this.#show(MOST_SHOWN);
    clearTimeout(this.#timer);
    if (explained && !explained.isFormatted && isOneWord(explained.source)) {
      this.#timer = setTimeout(() => void this.#lookUp(explained), LOOK_UP_MILLISECONDS);
    }
  }

  /**
   * Shows other translations of a word, if the panel is looked at.
   * @param {Explained} explained
   */
  async #lookUp({ source, from, to }) {
    const explained = this.#explained;
    if (!this.#list.offsetParent) return;
    const found = await translationsOf(source, from, to).catch(() => null); // it is an extra
    if (found && this.#explained === explained) this.#list.append(found);
  }

  /** @param {number} most */
  #show(most) {
    const explained = this.#explained;
    const sentences = explained?.sentences ?? [];
    const hasLinks = sentences.some(({ words }) => words.some(({ links }) => links.length));
    const next = document.body.classList.contains("has-no-next") ? "" : t("legendNext");
    this.#legend.textContent = t(hasLinks ? "legendLinks" : "legend") + next;
    this.#legend.hidden = !sentences.length || Boolean(explained?.isFormatted); // its words are not marked
    this.#list.tabIndex = -1;
    const shown = sentences.slice(0, most);
    this.#list.replaceChildren(...shown.map((s) => card(s, /** @type {Explained} */ (explained))));
    this.#all.hidden = sentences.length <= most;
    this.#all.textContent = t("allSentences", { count: number(sentences.length) });
  }

  async #translateBack() {
    const explained = this.#explained;
    if (!explained) return;
    this.#back.disabled = true;
    const fields = { q: explained.target, source: explained.to, target: explained.from };
    let text;
    try {
      text = (await post("translate", fields)).translatedText;
    } catch (error) {
      text = t("backFailed", { reason: error instanceof Error ? error.message : String(error) });
    }
    if (this.#explained !== explained) return;
    this.#back.disabled = false;
    this.#backText.lang = explained.from;
    this.#backText.dir = "auto";
    this.#backText.textContent = text;
  }
}

/**
 * @param {Sentence} sentence
 * @param {Explained} explained
 */
function card(sentence, explained) {
  const { detail, words } = sentence;
  const pair = make("div", { class: "pair" },
    make("p", { class: "text small source", lang: explained.from, dir: "auto" }, detail.source),
    make("p", { class: "text small", lang: explained.to, dir: "auto" }, detail.target));
  const doubtful = words.filter(isDoubtful).map((word) => {
    const text = explained.target.slice(word.start, word.end);
    return `${text} (${percent(word.share ?? 0)})`;
  });
  const facts = make("dl", { class: "facts" }, ...factsOf(detail, doubtful));
  const checks = (detail.checks ?? []).map(({ message }) => make("li", {}, message));
  const told = checks.length ? [make("ul", { class: "checks", "aria-label": t("checks") }, ...checks)] : [];
  return make("article", { class: "sentence" }, pair, ...told, facts);
}

/**
 * @param {Sentence["detail"]} detail
 * @param {string[]} doubtful
 */
function factsOf(detail, doubtful) {
  const { log_probs: logs, times_ms: times } = detail;
  const ends = { stop: t("stop"), length: t("length"), repetition: t("repetition") };
  const end = ends[/** @type {"stop"} */ (detail.finish_reason)] ?? detail.finish_reason;
  const mean = logs.length ? Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length) : 0;
  const brief = { maximumFractionDigits: 1 };
  const isCached = !times.encode && !times.decode;
  const time = isCached ? t("fromCache") : t("timesOf", {
    decode: number(times.decode, brief), encode: number(times.encode, brief), queue: number(times.queue, brief),
  });
  const facts = [
    ...(detail.confidence === undefined ? [] : [[t("confidence"), percent(detail.confidence)]]),
    [t("sureness"), percent(mean)],
    [t("score"), number(detail.score, { maximumFractionDigits: 2 })],
    [t("tokens"), number(detail.tokens.length)],
    [t("ended"), end],
    [t("times"), time],
    ...(doubtful.length ? [[t("doubtful"), doubtful.join(", ")]] : []),
  ];
  return facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
}
