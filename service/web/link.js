// The address of a translation: languages in the query, the text after #, which no server gets.

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

/** Takes the text out of the address, once it was read. */
export function forgetLink() {
  if (location.search || location.hash) history.replaceState(null, "", location.pathname);
}
