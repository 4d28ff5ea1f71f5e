// What the browser keeps between visits. Storage may be blocked or full: then values live in memory.

const PREFIX = "dragoman.";
/** @type {Map<string, string>} */
const memory = new Map();

/** @typedef {"localStorage" | "sessionStorage"} Area kept by the device, or until its tab is closed */

/**
 * The stored value, or `missing` if there is none or it cannot be read.
 * @param {string} key
 * @param {unknown} missing
 * @param {Area} [area]
 * @returns {unknown}
 */
export function load(key, missing, area = "localStorage") {
  try {
    const text = memory.get(key) ?? window[area].getItem(PREFIX + key);
    return text === null ? missing : JSON.parse(text);
  } catch {
    return missing;
  }
}

/**
 * Stores a value. Returns whether the browser will still have it on the next visit.
 * @param {string} key
 * @param {unknown} value
 * @param {Area} [area]
 */
export function save(key, value, area = "localStorage") {
  const text = JSON.stringify(value);
  try {
    window[area].setItem(PREFIX + key, text);
    memory.delete(key);
    return true;
  } catch {
    memory.set(key, text);
    return false;
  }
}

/**
 * Calls `act` when another tab changes the value.
 * @param {string} key
 * @param {() => void} act
 */
export function onChange(key, act) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + key || event.key === null) act();
  });
}
