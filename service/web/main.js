// The page: joins its parts.

import { credentials, isAboutKey, refuseCode } from "./api.js";
import { copied } from "./clipboard.js";
import { byId, debounced, make } from "./dom.js";
import { Extras } from "./extras.js";
import { glossaryField } from "./glossary.js";
import { NAMES, fillTexts, locale, number, percent, setLocale, t } from "./i18n.js";
import { PartMissing, part } from "./lazy.js";
import { AUTO, Languages, directionOf, nameOf } from "./languages.js";
import { forgetLink, makeLink, readLink } from "./link.js";
import { Options } from "./options.js";
import { Pane } from "./pane.js";
import { Session, pause } from "./session.js";
import { Source } from "./source.js";
import { locate } from "./spans.js";
import { Announcer, Status } from "./status.js";
import { load, save } from "./storage.js";
import { wireTabs } from "./tabs.js";
import { Words } from "./words.js";

/**
 * @typedef {import("./session.js").Answer} Answer
 * @typedef {import("./session.js").Fields} Fields
 */

const LONG_TEXT = 400;
const LEAST_PAUSE_MILLISECONDS = 80;
const MOST_PAUSE_MILLISECONDS = 1000;
const CHARACTERS_PER_MILLISECOND = 15;
const HISTORY_MILLISECONDS = 1500;
const MESSAGE_BYTES = 2000; // of a request's other fields

fillTexts();
const base = document.baseURI;
const linked = readLink(location);
let limits = { max_characters: 20_000, max_body_bytes: 1_048_576, max_beam_size: 16 };
let streamed = "";
/** @type {import("./spans.js").Sentence[]} */
let located = [];
/** @type {string[]} how the sentences must begin, because someone chose a word there */
let beginnings = [];
/** @type {{answer: Answer, fields: Fields} | null} */
let shown = null;
let wasExplained = false;
let openTab = "";

const languages = new Languages(() => languagesChanged());
const options = new Options(() => change());
const source = new Source(() => change(), (at) => words.lightFromSource(at));
const pane = new Pane((word) => words.lightFromTarget(word), (word, element) => void extras.offer(word, element));
const words = new Words(source, pane, isCurrent);
const sentences = part(async () => new (await import("./parts/sentences.js")).SentencePanel());
const announcer = new Announcer();
const status = new Status(() => (languages.to ? session.retry() : void start()));
const history = part(async () => new (await import("./parts/history.js")).History(openAgain));
const requests = part(() => import("./parts/request.js"));
const extras = new Extras({
  source,
  status,
  change,
  translate,
  pair: () => ({ from: languages.spoken || languages.from, to: languages.to }),
  hop: () => ({ from: shown?.answer.details?.[0]?.pivot?.language || languages.spoken || languages.from, to: languages.to }),
  sentences: () => located,
  sentence(word) {
    if (shown?.answer.details?.[0]?.pivot) return null;
    const sentence = located.find(({ words: own }) => own.includes(word));
    const all = shown?.answer.details?.[0]?.sentences ?? [];
    return sentence ? { sentence, index: all.indexOf(sentence.detail) } : null;
  },
  begin(index, text) {
    const all = shown?.answer.details?.[0]?.sentences ?? [];
    beginnings = all.map((_, i) => (i === index ? text : (beginnings[i] ?? "")));
    translate();
  },
});
const session = new Session(websocketUrl(), {
  begun() {
    streamed = "";
    announcer.begin();
    pane.busy(true);
  },
  token(text, segment) {
    status.clear();
    streamed += text;
    if (source.rich) return pane.showNodes(source.rich.nodesOf(streamed));
    announcer.add(text, segment);
    pane.stream(streamed);
  },
  final: showFinal,
  failed(code, error) {
    pane.busy(false);
    if (isAboutKey(code)) return refuseCode(code);
    status.tell(t(code === "body_too_large" ? "tooLarge" : "failed", { reason: error }));
  },
  waiting(reason, seconds) {
    pane.busy(false);
    status.countDown(reason, seconds);
  },
  slow: () => status.tell(t("slow")),
});

function websocketUrl() {
  const url = new URL("translate/stream", base);
  url.protocol = url.protocol.replace("http", "ws");
  return url;
}

/** @returns {Fields} */
function wantedFields() {
  return {
    ...source.fields,
    ...{ source: languages.from, target: languages.to },
    ...options.chosen,
    ...glossaryField(languages.spoken || languages.from, languages.to),
    ...(beginnings.length ? { target_prefix: beginnings } : {}),
  };
}

/**
 * Does something with a part of the page once it is loaded; says so if it cannot be.
 * @template T
 * @param {() => Promise<T>} load
 * @param {(part: T) => void} act
 */
async function when(load, act) {
  try {
    act(await load());
  } catch (error) {
    if (!(error instanceof PartMissing)) throw error;
    status.tellBriefly(t("partMissing"));
  }
}

// What people type and choose

/** @param {{from: string, to: string, text: string}} entry of the history */
function openAgain({ from, to, text }) {
  languages.choose(from, to);
  languagesChanged();
  source.text = text;
  change();
  scrollTo({ top: 0 });
  source.focus();
}

const ask = debounced(translate, () =>
  Math.min(MOST_PAUSE_MILLISECONDS, LEAST_PAUSE_MILLISECONDS + source.text.length / CHARACTERS_PER_MILLISECOND));
const remember = debounced(() => {
  if (!shown || !isCurrent()) return;
  const from = shown.answer.detectedLanguage?.language ?? shown.fields.source;
  const entry = { from, to: shown.fields.target, text: source.text, translation: pane.plain };
  void when(history, (own) => own.add(entry));
}, HISTORY_MILLISECONDS);

/** Whether the shown translation is of the text as it is now. */
function isCurrent() {
  return shown?.fields.q === source.fields.q;
}

function change() {
  beginnings = [];
  const length = source.length;
  const isOver = length > limits.max_characters;
  const count = byId("count", HTMLElement);
  count.textContent = t("count", { count: number(length), most: number(limits.max_characters) });
  count.classList.toggle("is-over", isOver);
  count.hidden = !length;
  byId("clear", HTMLButtonElement).hidden = !length;
  byId("share", HTMLButtonElement).disabled = !length;
  document.body.classList.toggle("is-long", length > LONG_TEXT);
  showRequest();
  ask();
}

function translate() {
  const fields = wantedFields();
  if (!fields.q.trim() || !fields.target) {
    session.stop();
    status.clear();
    showNothing();
  } else if (isTooLong(fields.q)) {
    session.stop();
    pane.busy(false);
  } else {
    session.ask(fields);
  }
}

/** @param {string} text */
function isTooLong(text) {
  const count = source.length;
  const isOver = count > limits.max_characters;
  const isLarge = new TextEncoder().encode(JSON.stringify(text)).length + MESSAGE_BYTES > limits.max_body_bytes;
  if (isOver) {
    status.tell(t("tooLong", { count: number(count), most: number(limits.max_characters) }));
  } else if (isLarge) {
    status.tell(t("tooLarge"));
  }
  return isOver || isLarge;
}

function languagesChanged() {
  beginnings = [];
  save("languages", [languages.from, languages.to]);
  if (languages.from !== AUTO) showDetected(null);
  speak();
  showRequest();
  translate();
}

/** Tells the browser which languages the two texts are in. */
function speak() {
  const spoken = languages.spoken;
  source.speak(spoken, spoken ? directionOf(spoken) : "auto");
  const to = shown?.fields.target ?? languages.to;
  pane.speak(to, directionOf(to));
}

// What the server answers

/**
 * @param {Answer} answer
 * @param {Fields} fields
 */
function showFinal(answer, fields) {
  shown = { answer, fields };
  status.clear();
  const rich = fields.format ? source.rich : null;
  if (rich) pane.showNodes(rich.nodesOf(answer.translatedText));
  else pane.show(answer.translatedText);
  pane.busy(false);
  if (fields.source === languages.from) showDetected(answer.detectedLanguage ?? null);
  if (fields.source === AUTO && languages.avoidOwn()) return translate();
  if (isCurrent() && !fields.glossary && wantedFields().glossary) return translate();
  speak();
  if (rich) announcer.add(pane.plain, 0);
  announcer.end(fields.target);
  byId("copy", HTMLButtonElement).disabled = false;
  showAlternatives(answer.alternatives ?? []);
  explain(answer, fields);
  remember();
}

/**
 * @param {Answer} answer
 * @param {Fields} fields
 */
function explain(answer, fields) {
  const details = answer.details?.[0];
  const via = details?.pivot;
  const from = answer.detectedLanguage?.language ?? fields.source;
  const text = fields.format ? source.text : fields.q, translation = pane.plain;
  const found = details ? locate(via ? via.text : text, translation, details.sentences, fields.target) : [];
  if (via) for (const { words: own } of found) for (const word of own) word.links = [];
  located = found;
  words.show(fields.format ? [] : found.flatMap((sentence) => sentence.words), via);
  const explained = { source: text, target: translation, from, to: fields.target, sentences: found };
  showSentences(explained);
  void extras.follow();
}

/** @param {import("./parts/sentences.js").Explained | null} explained */
function showSentences(explained) {
  const canSwap = languages.canSwap;
  if (explained || wasExplained) void when(sentences, (panel) => panel.show(explained, canSwap));
  wasExplained = Boolean(explained);
}

function showNothing() {
  shown = null;
  located = [];
  pane.show("");
  words.show([], undefined);
  pane.busy(false);
  showDetected(null);
  showAlternatives([]);
  speak();
  showSentences(null);
  byId("copy", HTMLButtonElement).disabled = true;
}

/** @param {Answer["detectedLanguage"] | null} detected */
function showDetected(detected) {
  const isKnown = Boolean(detected?.confidence);
  languages.found(isKnown && detected ? detected.language : "");
  byId("detected", HTMLElement).textContent = isKnown && detected
    ? t("detected", { language: nameOf(detected.language), confidence: percent(detected.confidence / 100) })
    : "";
}

/** @param {string[]} alternatives */
function showAlternatives(alternatives) {
  const box = byId("alternatives", HTMLElement);
  const rich = shown?.fields.format ? source.rich : null;
  const texts = rich ? alternatives.map((html) => rich.plainOf(html)) : alternatives;
  const others = [...new Set(texts)].filter((text) => text !== pane.plain);
  const isShort = (shown?.fields.q.length ?? 0) <= LONG_TEXT;
  box.hidden = !others.length || !isShort;
  const lang = shown?.fields.target ?? "";
  const items = others.map((text) => make("li", { lang, dir: directionOf(lang) }, text));
  box.querySelector("ul")?.replaceChildren(...(isShort ? items : []));
}

// Buttons and menus

/**
 * @param {string} text
 * @param {"copied" | "linkCopied"} done
 * @param {string} [html] the same with its formatting
 */
async function copy(text, done, html) {
  status.tellBriefly(await copied(text, done, html));
}

function showRequest() {
  if (byId("panel-request", HTMLElement).hidden) return;
  const checked = document.querySelector("input[name=form]:checked");
  const form = checked instanceof HTMLInputElement ? checked.value : "curl";
  const key = "api_key" in credentials() ? { api_key: t("yourKey") } : {};
  const fields = { ...wantedFields(), q: source.fields.q || "Hello!", ...key };
  const code = byId("request", HTMLElement).firstElementChild;
  void when(requests, ({ requestAs }) => {
    if (code) code.textContent = requestAs(form, new URL("translate", base), fields);
  });
}

function wireButtons() {
  byId("clear", HTMLButtonElement).addEventListener("click", () => {
    source.text = "";
    change();
    source.focus();
  });
  byId("swap", HTMLButtonElement).addEventListener("click", () => {
    const text = shown?.answer.translatedText;
    languages.choose(languages.to, languages.spoken);
    if (text && source.rich) source.rich.html = text;
    else if (text) source.text = text;
    languagesChanged();
    change();
  });
  byId("copy", HTMLButtonElement).addEventListener("click", () => {
    const rich = shown?.fields.format ? source.rich : null;
    void copy(pane.plain, "copied", rich ? rich.cleaned(shown?.answer.translatedText ?? "") : "");
  });
  byId("share", HTMLButtonElement).addEventListener("click", () => {
    const link = makeLink({ source: languages.from, target: languages.to, q: source.text });
    void copy(link, "linkCopied");
  });
  byId("copy-request", HTMLButtonElement).addEventListener("click", () => {
    void copy(byId("request", HTMLElement).textContent ?? "", "copied");
  });
  byId("forms", HTMLElement).addEventListener("change", showRequest);
  byId("source", HTMLElement).addEventListener("focus", () => session.warm());
  byId("source", HTMLElement).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
  });
}

function wireMenus() {
  const menu = byId("interface", HTMLSelectElement);
  const names = Object.entries(NAMES);
  menu.append(...names.map(([code, name]) => make("option", { value: code, lang: code }, name)));
  menu.value = locale();
  menu.addEventListener("change", async () => {
    await setLocale(menu.value);
    fillTexts();
    languages.choose(languages.from, languages.to);
    if (shown) showFinal(shown.answer, shown.fields);
    change();
    open(openTab);
  });
  const theme = byId("theme", HTMLSelectElement);
  const root = document.documentElement;
  theme.value = root.dataset.theme ?? "";
  theme.addEventListener("change", () => {
    save("theme", theme.value);
    if (theme.value) root.dataset.theme = theme.value;
    else delete root.dataset.theme;
  });
}

// The start

/**
 * The JSON at a path of this server.
 * @param {string} path
 */
async function fetchJson(path) {
  const answer = await fetch(new URL(path, base));
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

let failures = 0;
let startTimer = 0;

/** Loads the limits and languages; tries again until the server answers. */
async function start() {
  clearTimeout(startTimer);
  try {
    const [all, own] = await Promise.all([fetchJson("languages"), fetchJson("page/limits.json")]);
    limits = own;
    options.limit(limits.max_beam_size);
    const kept = load("languages", []);
    const [from, to] = Array.isArray(kept) ? kept.map(String) : [];
    const chosen = linked.target || to || "";
    languages.fill(all, linked.source || from || AUTO, chosen || locale(), Boolean(chosen));
    status.clear();
    speak();
    change();
  } catch {
    failures += 1;
    const seconds = pause(failures);
    status.countDown("noLanguages", seconds);
    startTimer = setTimeout(() => void start(), seconds * 1000);
  }
}

wireMenus();
wireButtons();
/** @param {string} name of the panel that is shown */
function open(name) {
  openTab = name;
  void extras.open(name);
  if (name === "history") void when(history, (own) => own.show());
  if (name === "request") showRequest();
}
wireTabs(open);
source.text = linked.q || source.text;
forgetLink();
change();
void start();
