// Finds and makes elements. Texts become text nodes, so nothing is ever read as HTML.

/**
 * The element with this id, which index.html has.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} #${id}`);
  return found;
}

/**
 * A new element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/**
 * Calls `act` once, `milliseconds` after the last call.
 * @param {() => void} act
 * @param {number} milliseconds
 */
export function debounced(act, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

/**
 * Calls `act` at once, but not more often than every so many milliseconds: of the calls in between,
 * the last one counts, at the end of that time.
 * @param {() => void} act
 * @param {() => number} milliseconds
 */
export function spaced(act, milliseconds) {
  let timer = 0, last = -Infinity;
  const now = () => {
    last = performance.now();
    act();
  };
  return () => {
    clearTimeout(timer);
    const left = last + milliseconds() - performance.now();
    if (left > 0) timer = setTimeout(now, left);
    else now();
  };
}
