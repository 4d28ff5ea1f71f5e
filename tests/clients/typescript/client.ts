// Calls the server at a URL with types generated from its OpenAPI document.

import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2]! });
const pair = { source: "en", target: "de" } as const;

const many = await client.POST("/translate", { body: { q: ["Hi.", "Bye."], ...pair } });
const texts: string | string[] | undefined = many.data?.translatedText;
const next = await client.POST("/translate/next", {
  body: { q: "One. Two.", prefix: "One. T", ...pair },
});
const refused = await client.POST("/translate", {
  body: { q: "Hi.", source: "en", target: "xx" as "de" },
});
const refusal: string | undefined = refused.error?.error;
const found = await client.POST("/translate", {
  body: { q: "Dies", source: "de", target: "en", details: "search", split_sentences: "nonewlines" },
});

console.log(
  JSON.stringify({
    texts,
    target: found.data?.details?.[0]?.sentences[0]?.target,
    sentence: next.data?.sentence,
    refusal,
  }),
);
