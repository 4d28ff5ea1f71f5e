// The page: joins its parts.

import { byId, debounced, make } from "./dom.js";
import { EnginePanel } from "./engine.js";
import { History } from "./history.js";
import { NAMES, fillTexts, locale, number, percent, setLocale, t } from "./i18n.js";
import { AUTO, Languages, directionOf, nameOf } from "./languages.js";
import { forgetLink, makeLink, readLink } from "./link.js";
import { Options } from "./options.js";
import { Pane } from "./pane.js";
import { requestAs } from "./request.js";
import { SentencePanel } from "./sentences.js";
import { Session, pause } from "./session.js";
import { Source } from "./source.js";
import { isDoubtful, locate } from "./spans.js";
import { Announcer, Status } from "./status.js";
import { load, save } from "./storage.js";
import { wireTabs } from "./tabs.js";

/**
 * @typedef {import("./session.js").Answer} Answer
 * @typedef {import("./session.js").Fields} Fields
 * @typedef {import("./spans.js").Word} Word
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
/** @type {Word[]} */
let words = [];
/** @type {{answer: Answer, fields: Fields} | null} */
let shown = null;

const languages = new Languages(() => languagesChanged());
const options = new Options(() => change());
const source = new Source(() => change(), lightFromSource);
const pane = new Pane(lightFromTarget);
const sentences = new SentencePanel();
const engine = new EnginePanel();
const announcer = new Announcer();
const status = new Status(() => (languages.to ? session.retry() : void start()));
const history = new History(({ from, to, text }) => {
  languages.choose(from, to);
  languagesChanged();
  source.text = text;
  change();
  scrollTo({ top: 0 });
  source.focus();
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
    announcer.add(text, segment);
    pane.stream(streamed);
  },
  final: showFinal,
  failed(code, error) {
    pane.busy(false);
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
  return { q: source.text, source: languages.from, target: languages.to, ...options.chosen };
}

// What people type and choose

const ask = debounced(translate, () =>
  Math.min(MOST_PAUSE_MILLISECONDS, LEAST_PAUSE_MILLISECONDS + source.text.length / CHARACTERS_PER_MILLISECOND));
const remember = debounced(() => {
  if (!shown || shown.fields.q !== source.text) return;
  const from = shown.answer.detectedLanguage?.language ?? shown.fields.source;
  const { q: text, target: to } = shown.fields;
  history.add({ from, to, text, translation: shown.answer.translatedText });
}, HISTORY_MILLISECONDS);

function change() {
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
  pane.show(answer.translatedText);
  pane.busy(false);
  if (fields.source === languages.from) showDetected(answer.detectedLanguage ?? null);
  if (fields.source === AUTO && languages.avoidOwn()) return translate();
  speak();
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
  const found = details ? locate(via ? via.text : fields.q, answer.translatedText, details.sentences, fields.target) : [];
  if (via) for (const { words: own } of found) for (const word of own) word.links = [];
  words = found.flatMap((sentence) => sentence.words);
  pane.annotate(words);
  noteAbout(null);
  const explained = { source: fields.q, target: answer.translatedText, from, to: fields.target, sentences: found };
  sentences.show(explained, languages.canSwap);
}

function showNothing() {
  shown = null;
  words = [];
  pane.show("");
  pane.busy(false);
  showDetected(null);
  showAlternatives([]);
  speak();
  sentences.show(null, false);
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
  const others = [...new Set(alternatives)].filter((text) => text !== shown?.answer.translatedText);
  const isShort = (shown?.fields.q.length ?? 0) <= LONG_TEXT;
  box.hidden = !others.length || !isShort;
  const lang = shown?.fields.target ?? "";
  const items = others.map((text) => make("li", { lang, dir: directionOf(lang) }, text));
  box.querySelector("ul")?.replaceChildren(...(isShort ? items : []));
}

// Words and their counterparts

/** @param {Word | null} word */
function lightFromTarget(word) {
  const isCurrent = shown?.fields.q === source.text;
  source.light(word && isCurrent ? word.links : []);
  pane.light((other) => other === word);
  noteAbout(word);
}

/** @param {number | null} at */
function lightFromSource(at) {
  const isCurrent = at !== null && shown?.fields.q === source.text;
  const at_ = at ?? -1;
  pane.light((word) => isCurrent && word.links.some(({ start, end }) => start <= at_ && at_ < end));
}

/** @param {Word | null} word */
function noteAbout(word) {
  const note = byId("word-note", HTMLElement);
  if (!word) {
    const pivot = shown?.answer.details?.[0]?.pivot;
    note.textContent = pivot ? t("pivot", { language: nameOf(pivot.language), text: pivot.text }) : "";
    return;
  }
  const parts = [];
  const text = pane.text.slice(word.start, word.end);
  if (word.share !== null) {
    const told = { word: text, share: percent(word.share) };
    if (word.isCalibrated) parts.push(t(isDoubtful(word) ? "wordDoubtful" : "wordSure", told));
    else parts.push(t(isDoubtful(word) ? "wordUnlikely" : "wordLikely", told));
  }
  const counterparts = word.links.map(({ start, end }) => source.text.slice(start, end));
  if (counterparts.length) parts.push(t("counterpart", { words: counterparts.join(", ") }));
  note.textContent = parts.join(" ");
}

// Buttons and menus

/**
 * @param {string} text
 * @param {"copied" | "linkCopied"} done
 */
async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    status.tellBriefly(t(done));
  } catch {
    status.tellBriefly(t("notCopied"));
  }
}

function showRequest() {
  const checked = document.querySelector("input[name=form]:checked");
  const form = checked instanceof HTMLInputElement ? checked.value : "curl";
  const fields = { ...wantedFields(), q: source.text || "Hello!" };
  const code = byId("request", HTMLElement).firstElementChild;
  if (code) code.textContent = requestAs(form, new URL("translate", base), fields);
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
    if (text) source.text = text;
    languagesChanged();
    change();
  });
  byId("copy", HTMLButtonElement).addEventListener("click", () => void copy(pane.text, "copied"));
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
    history.show();
    if (shown) showFinal(shown.answer, shown.fields);
    change();
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
wireTabs((name) => {
  engine.open(name === "engine");
  if (name === "history") history.show();
});
source.text = linked.q || source.text;
forgetLink();
history.show();
change();
void start();
