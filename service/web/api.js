// Requests to this server, with the API key if one was given.

import { load, save } from "./storage.js";

const ABOUT_KEYS = ["key_required", "invalid_key"];
let key = String(load("key", "", "sessionStorage"));
/** @type {(code: string) => void} */
let refused = () => {};

/**
 * Keeps an API key until the browser's tab is closed.
 * @param {string} value
 */
export function setKey(value) {
  key = value;
  save("key", value, "sessionStorage");
}

/** The field of a request that has the key; nothing without one. */
export function credentials() {
  return key ? { api_key: key } : {};
}

/**
 * The header of a request without fields that has the key; nothing without one.
 * @returns {Record<string, string>}
 */
export function authorization() {
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/**
 * Throws if the server is away. To be called before a module is imported: a browser does not try again
 * to load one that it could not load.
 */
export async function reach() {
  const answer = await fetch(new URL("page/limits.json", document.baseURI), { cache: "no-store" });
  if (!answer.ok) throw new ApiError(String(answer.status), answer.status);
}

/** @param {(code: string) => void} act called when a request is refused for its key */
export function onRefusedKey(act) {
  refused = act;
}

export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * The JSON that a path answers to these fields; throws ApiError with the server's sentence.
 * @param {string} path
 * @param {object} fields
 * @param {AbortSignal} [signal]
 */
export async function post(path, fields, signal) {
  const answer = await fetch(new URL(path, document.baseURI), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...fields, ...credentials() }),
    signal,
  });
  const found = await answer.json().catch(() => ({}));
  if (answer.ok) return found;
  refuse(found.code);
  throw new ApiError(found.error ?? String(answer.status), answer.status);
}

/**
 * Asks for a key if this is the code of an error that wants one; returns whether it is.
 * @param {string} code
 */
export function refuse(code) {
  const isAboutKey = ABOUT_KEYS.includes(code);
  if (isAboutKey) refused(code);
  return isAboutKey;
}
