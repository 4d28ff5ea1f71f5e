// The page: makes its parts and joins them.

import { refuse } from "./api.js";
import { Asking } from "./asking.js";
import { wireButtons } from "./buttons.js";
import { debounced } from "./dom.js";
import { Extras } from "./extras.js";
import { fillTexts, t } from "./i18n.js";
import { AUTO, codeAmong, Languages, MOST_IN_MENU, nameOf } from "./languages.js";
import { part, whenLoaded } from "./lazy.js";
import { wireMenus } from "./menus.js";
import { Options } from "./options.js";
import { Pane } from "./pane.js";
import { Panels } from "./panels.js";
import { Session } from "./session.js";
import { forgetLink, readLink } from "./sharing.js";
import { Source } from "./source.js";
import { Start } from "./start.js";
import { Announcer, Status } from "./status.js";
import { load, save } from "./storage.js";
import { wireTabs } from "./tabs.js";
import { Translation } from "./translation.js";

const HISTORY_MILLISECONDS = 1500;

fillTexts();
// What stood here before a reload, and what the address asks for.
const linked = Object(load("left", {}, "sessionStorage")), asked = readLink(location);
if (asked.q) delete linked.format;
Object.assign(linked, asked);
const status = new Status(() => (languages.to ? session.retry() : void start.load()));
const languages = new Languages(() => asking.changeLanguages());
const options = new Options(() => asking.change());
const source = new Source((isComposing) => asking.change(isComposing), (at) => panels.understood?.lightFromSource(at));
const pane = new Pane((word) => panels.understood?.lightFromTarget(word), (word, element) => void extras.offer(word, element));
/** @type {Translation} */
const translation = new Translation({
  source, pane, languages, status,
  announcer: new Announcer(),
  wanted: () => asking.fields,
  again: () => asking.translate(),
  explain: (explained) => panels.explain(explained),
  finished: debounced(remember, HISTORY_MILLISECONDS),
});
const session = new Session(websocketUrl(), {
  begun: () => translation.begin(),
  token: (text, segment) => translation.add(text, segment),
  final: (answer, fields) => translation.show(answer, fields),
  failed(code, error, language) {
    translation.stop();
    if (language) translation.showDetected(null);
    if (refuse(code)) return;
    const known = code === "body_too_large" ? t("tooLarge") : t("failed", { reason: error });
    status.tell(language ? t("notOffered", { language: nameOf(language) }) : known);
  },
  waiting(reason, seconds, told) {
    translation.stop();
    status.countDown(reason, seconds, told);
  },
  slow: () => status.tell(t("slow"), true),
});
/** @type {Asking} */
const asking = new Asking({ source, languages, options, session, status, translation, changed: () => panels.changed() });
/** @type {import("./page.js").Page} */
const page = {
  source,
  status,
  languages,
  takesGlossary: (from, to) => asking.takesGlossary(from, to),
  otherFormat: (suffix) => asking.limits.save_as[suffix] ?? "",
  change: (isComposing) => asking.change(isComposing),
  translate: () => asking.translate(),
  pair: () => ({ from: languages.spoken || languages.from, to: languages.to }),
  hop: () => ({ from: translation.details?.pivot?.language || languages.spoken || languages.from, to: languages.to }),
  shown: () => translation,
  sources: () => (translation.details?.sentences ?? []).map(({ source }) => source),
  sentence(word) {
    if (translation.details?.pivot) return null;
    const sentence = panels.sentences.find(({ words: own }) => own.includes(word));
    return sentence ? { sentence, index: translation.details?.sentences.indexOf(sentence.detail) ?? -1 } : null;
  },
  begin: (index, text) => asking.begin(index, translation.details?.sentences.length ?? 0, text),
};
const extras = new Extras(page);
/** @type {Panels} */
const panels = new Panels({
  page, pane, options, openAgain,
  wanted: () => asking.fields,
  canSwap: () => languages.canSwap,
  isCurrent: () => translation.isCurrent,
});
const searching = part(() => import("./parts/language_search.js"));
const start = new Start((all, limits) => {
  asking.limits = limits;
  options.limit(limits.max_beam_size);
  const kept = load("languages", []);
  const [from, to] = Array.isArray(kept) ? kept.map(String) : [];
  const served = new Set(all.flatMap(({ targets }) => targets));
  const wanted = codeAmong([...served], linked.target), spoken = codeAmong([AUTO, ...all.map(({ code }) => code)], linked.source);
  const chosen = [wanted, to].find((code) => served.has(code)) ?? "";
  languages.fill(all, spoken || from, chosen);
  if (served.size > MOST_IN_MENU) void whenLoaded(searching, (found) => found.searchLanguages(), status);
  status.clear();
  translation.speak();
  asking.change();
  panels.refresh();
}, (seconds) => status.countDown("noLanguages", seconds));

function websocketUrl() {
  const url = new URL("translate/stream", document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  return url;
}

function remember() {
  if (!translation.isCurrent) return;
  panels.remember({ ...translation.pair, text: source.text, translation: pane.plain });
}

/** @param {import("./parts/history.js").Entry} entry */
function openAgain({ from, to, text }) {
  languages.choose(from, to);
  asking.changeLanguages();
  source.text = text;
  asking.change();
  scrollTo({ top: 0 });
  source.focus();
}

wireMenus(() => {
  languages.choose(languages.from, languages.chosen);
  translation.refresh();
  asking.change();
  panels.refresh();
}, () => status.tellBriefly(t("partMissing")));
wireButtons({ source, pane, languages, translation, asking, session, status });
wireTabs((name) => panels.open(name));
if (linked.format) void extras.formatted(linked.q);
else source.text = linked.q || source.text;
addEventListener("pagehide", () => {
  save("left", { ...source.fields, source: languages.from, target: languages.chosen }, "sessionStorage");
});
if (!matchMedia("(pointer: coarse)").matches) source.focus();
forgetLink();
asking.change();
void start.load();
