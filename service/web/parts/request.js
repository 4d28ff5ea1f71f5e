// The request behind the translation, as a program would send it.

import { credentials } from "../api.js";
import { copied } from "../sharing.js";
import { byId } from "../dom.js";
import { t } from "../i18n.js";

/** @typedef {import("../messages.js").Fields} Fields */

// Invisible characters could make code look different from what it does, so they are escaped.
const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** @param {string} text */
function escaped(text) {
  return text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {unknown} value */
function json(value) {
  return escaped(JSON.stringify(value));
}

/** @type {Record<string, (url: string, fields: Fields) => string>} */
const FORMS = {
  curl(url, fields) {
    const body = json(fields).replaceAll("'", "'\\''");
    return `curl ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`;
  },
  python(url, fields) {
    const values = Object.entries(fields).map(([name, value]) => {
      const literal = typeof value === "boolean" ? (value ? "True" : "False") : json(value);
      return `    "${name}": ${literal},\n`;
    });
    return `import json
from urllib.request import Request, urlopen

fields = {
${values.join("")}}
request = Request(
    "${url}",
    json.dumps(fields).encode(),
    {"Content-Type": "application/json"},
)
with urlopen(request) as answer:
    print(json.load(answer)["translatedText"])`;
  },
  javascript(url, fields) {
    const values = Object.entries(fields).map(([name, value]) => `    ${name}: ${json(value)},\n`);
    return `const answer = await fetch("${url}", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({
${values.join("")}  }),
});
console.log((await answer.json()).translatedText);`;
  },
};

export class RequestPanel {
  #pre = byId("request", HTMLElement);
  #fields;

  /**
   * @param {() => Fields} fields of the request as it would be now
   * @param {(text: string) => void} tell
   */
  constructor(fields, tell) {
    this.#fields = fields;
    byId("forms", HTMLElement).addEventListener("change", () => this.show());
    byId("copy-request", HTMLButtonElement).addEventListener("click", async () => {
      tell(await copied(this.#pre.textContent ?? "", "copied"));
    });
  }

  /** Shows the request in the chosen form; the API key, if there is one, is not shown. */
  show() {
    const checked = document.querySelector("input[name=form]:checked");
    const form = checked instanceof HTMLInputElement ? checked.value : "curl";
    const key = "api_key" in credentials() ? { api_key: t("yourKey") } : {};
    const fields = this.#fields();
    const url = new URL("translate", document.baseURI);
    const code = FORMS[form](url.href, { ...fields, q: fields.q || "Hello!", ...key });
    this.#pre.firstElementChild?.replaceChildren(code);
  }
}
