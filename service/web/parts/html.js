// Formatted text: HTML is taken apart here and built again from a list of allowed elements, node by
// node. No string ever reaches the browser's own HTML parser.

const ALLOWED = new Set([
  "a", "b", "strong", "i", "em", "u", "s", "sub", "sup", "code", "pre", "br", "p", "div", "blockquote",
  "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td",
]);
const SKIPPED = new Set(["script", "style", "head", "title", "template", "noscript", "iframe", "object", "svg", "math", "textarea", "select"]);
const BLOCKS = new Set(["p", "div", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "tr"]);
const CELLS = new Set(["td", "th"]);
const VOID = new Set(["br"]);
/** @type {[string, RegExp][]} */
const STYLES = [["b", /(^|[;\s])font-weight:\s*(bold|[6-9]00)/i], ["i", /(^|[;\s])font-style:\s*italic/i]];
const PLAIN = /(^|[;\s])font-weight:\s*(normal|400)/i;
const SAFE_ADDRESS = /^(https?:\/\/|mailto:)/i;
const MOST_DEPTH = 40;
const TOKEN = /<!--[\s\S]*?(?:-->|$)|<[!?][^>]*>|<(\/?)([a-z][a-z0-9:-]*)((?:"[^"]*"|'[^']*'|[^>"'])*)>|[^<]+|</gi;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi;
/** @type {Record<string, string>} */
const NAMED = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—", hellip: "…",
  lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«", raquo: "»", euro: "€", copy: "©", shy: "",
  auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß",
};

/** @param {string} text */
function decoded(text) {
  return text.replace(REFERENCE, (whole, decimal, hexadecimal, name) => {
    if (name) return NAMED[name] ?? whole;
    const code = decimal ? Number(decimal) : parseInt(hexadecimal, 16);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "";
  });
}

/**
 * The value of an attribute in the rest of a tag; "" if it has none.
 * @param {string} rest
 * @param {string} name
 */
function attribute(rest, name) {
  const found = new RegExp(`\\s${name}\\s*=\\s*("[^"]*"|'[^']*'|[^\\s>]+)`, "i").exec(rest);
  return found ? decoded(found[1].replace(/^["']|["']$/g, "")) : "";
}

/**
 * @param {string} name
 * @param {string} rest of its tag
 */
function element(name, rest) {
  const made = document.createElement(name);
  const address = name === "a" ? attribute(rest, "href").trim() : "";
  if (SAFE_ADDRESS.test(address)) {
    made.setAttribute("href", address);
    made.setAttribute("rel", "noreferrer noopener nofollow");
    made.setAttribute("target", "_blank");
  }
  return made;
}

/**
 * The nodes of a text in HTML: allowed elements without their attributes, except addresses of
 * links, and texts. Everything else is left out, and what it contains is kept unless it is code.
 * @param {string} html which may be cut off anywhere
 * @returns {Node[]}
 */
export function nodesOf(html) {
  const root = document.createDocumentFragment();
  /** @type {{name: string, node: ParentNode & Node}[]} */
  const open = [{ name: "", node: root }];
  let skipped = "";
  for (const [token, slash, tag, rest] of html.matchAll(TOKEN)) {
    const name = tag?.toLowerCase() ?? "";
    if (skipped) {
      if (slash && name === skipped) skipped = "";
    } else if (!name) {
      const isText = !token.startsWith("<!") && !token.startsWith("<?");
      if (isText) open[open.length - 1].node.append(decoded(token));
    } else if (slash) {
      close(open, name);
    } else if (SKIPPED.has(name)) {
      skipped = rest.endsWith("/") ? "" : name;
    } else if (ALLOWED.has(name) || name === "span") {
      let { node } = open[open.length - 1];
      for (const one of namesOf(name, attribute(rest, "style"))) node = node.appendChild(element(one, rest));
      if (!VOID.has(name) && !rest.endsWith("/") && open.length < MOST_DEPTH) open.push({ name, node });
    }
  }
  return [...root.childNodes];
}

/**
 * The names of the elements that are made of a tag. Google Docs and others write bold and italics as
 * styles of a <span>, and wrap all in a <b> that is not bold.
 * @param {string} name
 * @param {string} style
 */
function namesOf(name, style) {
  if (name === "span") return STYLES.filter(([, pattern]) => pattern.test(style)).map(([one]) => one);
  return name === "b" && PLAIN.test(style) ? [] : [name];
}

/**
 * @param {{name: string, node: ParentNode & Node}[]} open
 * @param {string} name
 */
function close(open, name) {
  const at = open.findLastIndex((entry) => entry.name === name);
  if (at > 0) open.length = at;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/**
 * Nodes as HTML: allowed elements and texts only.
 * @param {Iterable<Node>} nodes
 * @returns {string}
 */
export function htmlOf(nodes) {
  return [...nodes].map((node) => {
    if (node instanceof Text) return escaped(node.data).replaceAll("\u00a0", "&nbsp;");
    if (!(node instanceof HTMLElement)) return "";
    const name = node.localName, inner = htmlOf(node.childNodes);
    if (!ALLOWED.has(name)) return inner;
    const address = name === "a" ? (node.getAttribute("href") ?? "") : "";
    const tag = SAFE_ADDRESS.test(address) ? `a href="${escaped(address)}"` : name;
    return VOID.has(name) ? `<${tag}>` : `<${tag}>${inner}</${name}>`;
  }).join("");
}

/**
 * Nodes as plain text, a block a line, with tabs between cells.
 * @param {Iterable<Node>} nodes
 * @returns {string}
 */
export function plainOf(nodes) {
  const text = [...nodes].map((node) => {
    if (node instanceof Text) return node.data.replace(/\s+/g, " ");
    if (!(node instanceof HTMLElement)) return "";
    if (node.localName === "br") return "\n";
    const inner = plainOf(node.childNodes);
    if (CELLS.has(node.localName)) return `${inner}\t`;
    return BLOCKS.has(node.localName) ? `\n${inner}\n` : inner;
  }).join("");
  return text.replace(/ ?([\n\t]) ?/g, "$1").replace(/\n{2,}/g, "\n").replace(/\t(?=\n|$)|^\n|\n$/g, "");
}
