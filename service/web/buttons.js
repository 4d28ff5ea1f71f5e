// The buttons of the two panes, and the keys that do the same.

import { byId } from "./dom.js";
import { part, whenLoaded } from "./lazy.js";
import { copied, makeLink } from "./sharing.js";

/**
 * @typedef {{
 *   source: import("./source.js").Source,
 *   pane: import("./pane.js").Pane,
 *   languages: import("./languages.js").Languages,
 *   translation: import("./translation.js").Translation,
 *   asking: import("./asking.js").Asking,
 *   session: import("./session.js").Session,
 *   status: import("./status.js").Status,
 * }} Parts
 */

/** @param {Parts} parts */
export function wireButtons({ source, pane, languages, translation, asking, session, status }) {
  const onClick = (/** @type {string} */ id, /** @type {() => void} */ act) =>
    byId(id, HTMLButtonElement).addEventListener("click", act);
  onClick("clear", () => {
    source.text = "";
    asking.change();
    source.focus();
  });
  const joining = part(() => import("./parts/joining.js"));
  onClick("join", () => void whenLoaded(joining, ({ joined }) => {
    source.focus();
    document.execCommand("selectAll");
    document.execCommand("insertText", false, joined(source.text)); // with undo
  }, status));
  onClick("swap", () => {
    const text = translation.isStale ? "" : translation.answer?.translatedText;
    languages.choose(languages.to, languages.spoken);
    if (text && source.rich) source.rich.html = text;
    else if (text) source.text = text;
    asking.changeLanguages();
    asking.change();
  });
  onClick("copy", async () => {
    const html = translation.rich?.cleaned(translation.answer?.translatedText ?? "");
    status.tellBriefly(await copied(pane.plain, "copied", html));
  });
  onClick("share", async () => {
    const link = makeLink({ source: languages.from, target: languages.to, q: source.text });
    status.tellBriefly(await copied(link, "linkCopied"));
  });
  byId("source", HTMLElement).addEventListener("focus", () => session.warm());
  byId("source", HTMLElement).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) asking.translate();
  });
}
