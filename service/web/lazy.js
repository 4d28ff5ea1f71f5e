// Parts of the page that are loaded when they are first wanted, with their panels, texts and style.

import { reach } from "./api.js";
import { make } from "./dom.js";
import { fillTexts, loadPartTexts, t } from "./i18n.js";

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
    made ??= loadShared().then(reach).then(load).catch((error) => {
      made = null;
      throw new PartMissing(String(error));
    });
    return made;
  };
}

/**
 * Does something with a part once it is loaded; says so if it cannot be.
 * @template T
 * @param {() => Promise<T>} load
 * @param {(part: T) => void | Promise<void>} act
 * @param {import("./status.js").Status} status
 */
export async function whenLoaded(load, act, status) {
  try {
    await act(await load());
  } catch (error) {
    if (!(error instanceof PartMissing)) throw error;
    status.tellBriefly(t("partMissing"));
  }
}

function loadShared() {
  shared ??= reach().then(() => Promise.all([loadPanels(), loadPartTexts(), loadStyle()])).then(([panels]) => fillPanels(panels));
  shared.catch(() => (shared = null));
  return shared;
}

/** @param {Document} panels */
function fillPanels(panels) {
  for (const panel of panels.querySelectorAll("[data-panel]")) {
    document.getElementById(`panel-${panel.getAttribute("data-panel")}`)?.append(panel);
  }
  fillTexts();
}

/**
 * Loads the panels' contents. The browser makes a document of them, in which no script runs; the
 * content policy lets no text become HTML.
 * @returns {Promise<Document>}
 */
function loadPanels() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", new URL("page/parts/panels.html", document.baseURI));
    request.responseType = "document";
    request.addEventListener("loadend", () => {
      if (request.status === 200 && request.responseXML) resolve(request.responseXML);
      else reject(new Error("panels"));
    });
    request.send();
  });
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
