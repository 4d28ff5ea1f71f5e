// Calls one client against the server at a URL, and prints what it got as JSON.
// Usage: node clients.mjs CLIENT URL

const GERMAN = "Das ist ein Satz in deutscher Sprache.";
const [client, url] = process.argv.slice(2);

// What Strapi's own plugin gives to the providers of translations.
const CHUNKS = { split: (texts) => ({ chunks: [texts], reduceFunction: (found) => found.flat() }) };

const clients = {
  async "@libretranslate/mcp"() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client({ name: "test", version: "1" });
    const args = ["node_modules/@libretranslate/mcp/dist/index.js"];
    const env = { ...process.env, LIBRETRANSLATE_API_URL: url, LIBRETRANSLATE_API_KEY: "key" };
    await client.connect(new StdioClientTransport({ command: "node", args, env }));
    const call = async (name, values) => {
      const answer = await client.callTool({ name, arguments: values });
      return JSON.parse(answer.content[0].text);
    };
    const answers = {
      detected: (await call("detect", { text: GERMAN })).language,
      translated: await call("translate", { text: "Hi.", source: "en", target: "de" }),
      languages: (await call("languages", {})).map((language) => language.code),
      refusal: (await call("translate", { text: "Hi.", source: "en", target: "xx" })).error,
    };
    await client.close();
    return answers;
  },
  async "@google-cloud/translate"() {
    const { v2 } = (await import("@google-cloud/translate")).default;
    process.env.GOOGLE_CLOUD_TRANSLATE_ENDPOINT = `${url}/language/translate/v2`;
    const google = new v2.Translate({ key: "key", projectId: "p" });
    const [text] = await google.translate(GERMAN, { from: "de", to: "en", format: "text" });
    const [detection] = await google.detect(GERMAN);
    const [languages] = await google.getLanguages("en");
    return { text, detected: detection.language, languages };
  },
  async "deepl-node"() {
    const { DeepLClient } = await import("deepl-node");
    const deepl = new DeepLClient("key", { serverUrl: url });
    const [one] = await deepl.translateText([GERMAN], null, "en-GB", { formality: "prefer_more" });
    const usage = await deepl.getUsage();
    const languages = await deepl.getTargetLanguages();
    let refusal = "";
    try {
      await deepl.translateText("Hi.", "en", "xx");
    } catch (error) {
      refusal = String(error.message);
    }
    return {
      text: one.text,
      source: one.detectedSourceLang,
      languages: languages.map((language) => language.code),
      isLimited: usage.anyLimitReached(),
      refusal,
    };
  },
  async "libretranslate-ts"() {
    const { libreTranslate } = (await import("libretranslate-ts")).default;
    libreTranslate.setApiEndpoint(url);
    libreTranslate.setApiKey("key");
    const detected = await libreTranslate.detect(GERMAN);
    const translated = await libreTranslate.translate(GERMAN, "de", "en");
    return { detected, text: translated.translatedText };
  },
  async "strapi-provider-translate-libretranslate"() {
    const strapi = (await import("strapi-provider-translate-libretranslate")).default;
    globalThis.strapi = { plugin: () => ({ service: () => CHUNKS }) };
    const provider = strapi.init({ apiUrl: url, apiKey: "key" });
    const locales = { sourceLocale: "en-GB", targetLocale: "de" };
    const text = ["<p>Hi <b>you</b>.</p>", "Bye."];
    return {
      texts: await provider.translate({ text: ["Hi.", "Bye."], ...locales, format: "plain" }),
      marked: await provider.translate({ text, ...locales, format: "html" }),
    };
  },
  async translate() {
    const { Translate } = await import("translate");
    const translate = new Translate({ engine: "libre", url: `${url}/translate`, from: "de" });
    return { text: await translate(GERMAN, "en") };
  },
};

console.log(JSON.stringify(await clients[client]()));
