// Calls one client against the server at a URL, and prints what it got as JSON.
// Usage: node clients.mjs CLIENT URL

const GERMAN = "Das ist ein Satz in deutscher Sprache.";
const [client, url] = process.argv.slice(2);

const clients = {
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
  async translate() {
    const { Translate } = await import("translate");
    const translate = new Translate({ engine: "libre", url: `${url}/translate`, from: "de" });
    return { text: await translate(GERMAN, "en") };
  },
};

console.log(JSON.stringify(await clients[client]()));
