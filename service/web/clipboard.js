// What people copy.

import { t } from "./i18n.js";

/**
 * Copies a text, and the same with its formatting if it has any -> what to tell.
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
