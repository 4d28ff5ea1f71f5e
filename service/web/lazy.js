// Parts of the page that are loaded when they are first wanted, with their texts and style.

import { make } from "./dom.js";
import { loadPartTexts } from "./i18n.js";

/** The part could not be loaded: the server is away, or is a newer one. */
export class PartMissing extends Error {}

/** @type {Promise<void> | null} */
let shared = null;

/**
 * A function that loads a part once; it tries again if that failed.
 * @template T
 * @param {() => Promise<T>} load
 * @returns {() => Promise<T>}
 */
export function part(load) {
  /** @type {Promise<T> | null} */
  let made = null;
  return () => {
    made ??= loadShared().then(load).catch((error) => {
      made = null;
      throw new PartMissing(String(error));
    });
    return made;
  };
}

function loadShared() {
  shared ??= Promise.all([loadPartTexts(), loadStyle()]).then(() => undefined);
  shared.catch(() => (shared = null));
  return shared;
}

/** @returns {Promise<void>} */
function loadStyle() {
  return new Promise((resolve, reject) => {
    const link = make("link", { rel: "stylesheet", href: "page/parts/style.css" });
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error("style"));
    });
    document.head.append(link);
  });
}
