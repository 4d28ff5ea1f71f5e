// What people copy, and the link to a translation: the text is after #, which no server gets.

import { t } from "./i18n.js";

/** @typedef {{source: string, target: string, q: string}} Linked */

/**
 * What the address asks for, if it does: ?source&target&q, where q may also stand after #.
 * @param {Location} location
 * @returns {Partial<Linked>}
 */
export function readLink(location) {
  const query = new URLSearchParams(location.search);
  const hidden = new URLSearchParams(location.hash.slice(1));
  const given = ["source", "target", "q"].map((name) => [name, hidden.get(name) ?? query.get(name)]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

/**
 * The address that opens this translation.
 * @param {Linked} linked
 */
export function makeLink({ source, target, q }) {
  const url = new URL("./", document.baseURI);
  url.search = new URLSearchParams({ source, target }).toString();
  url.hash = new URLSearchParams({ q }).toString();
  return url.href;
}

/** Takes the text out of the address. */
export function forgetLink() {
  if (location.search || location.hash) history.replaceState(null, "", location.pathname);
}

/**
 * Copies a text, with its formatting if it has any -> what to tell.
 * @param {string} text
 * @param {"copied" | "linkCopied"} done
 * @param {string} [html]
 */
export async function copied(text, done, html = "") {
  try {
    if (html) await navigator.clipboard.write([item(text, html)]);
    else await navigator.clipboard.writeText(text);
    return t(done);
  } catch {
    return t("notCopied");
  }
}

/**
 * @param {string} text
 * @param {string} html
 */
function item(text, html) {
  const blob = (/** @type {string} */ content, /** @type {string} */ type) => new Blob([content], { type });
  return new ClipboardItem({ "text/plain": blob(text, "text/plain"), "text/html": blob(html, "text/html") });
}
