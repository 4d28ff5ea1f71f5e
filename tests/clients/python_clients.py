"""Real Python clients of LibreTranslate, DeepL and Google, pointed at this server.

Run by `make clients-test`, because it installs them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served
from tests.service.translation.documents.samples import SAMPLES

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients' own
GERMAN = "Das ist ein Satz in deutscher Sprache."


def test_libretranslatepy(server: Served) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url + "/", "key")
    assert client.translate("Hi.", "en", "de") == "HI."
    assert client.detect(GERMAN)[0]["language"] == "de"


@pytest.mark.parametrize("source", ["de", "autodetect"])
def test_translate(server: Served, source: str) -> None:
    from translate import Translator

    client = Translator(
        provider="libre", from_lang=source, to_lang="en", base_url=server.url, secret_access_key="k"
    )
    assert client.translate(GERMAN) == GERMAN.upper()


def test_deep_translators_libretranslate(server: Served) -> None:
    from deep_translator import LibreTranslator

    client = LibreTranslator(source="en", target="de", api_key="k", custom_url=server.url + "/")
    assert client.translate("Hi.") == "HI."
    assert client.translate_batch(["Hi.", "Bye."]) == ["HI.", "BYE."]


def test_deepl(server: Served, tmp_path: Path) -> None:
    import deepl

    client = deepl.DeepLClient("key", server_url=server.url)
    one = client.translate_text("Hi.", source_lang="EN", target_lang="DE")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("HI.", "EN", 3)
    several = client.translate_text(
        [GERMAN, "Hallo, wie geht es dir?"],
        target_lang="EN-GB",
        context="A letter.",
        formality=deepl.Formality.PREFER_MORE,
        model_type=deepl.ModelType.LATENCY_OPTIMIZED,
        preserve_formatting=True,
        split_sentences=deepl.SplitSentences.ALL,
    )
    assert several[0].text == GERMAN.upper()
    assert several[0].detected_source_lang == "DE"
    assert several[0].model_type_used == "latency_optimized"
    assert "DE" in [language.code for language in client.get_source_languages()]
    assert not any(language.supports_formality for language in client.get_target_languages())
    assert not client.get_usage().any_limit_reached
    use_glossaries(client)
    with pytest.raises(deepl.DeepLException, match="target_lang.*not supported"):
        client.translate_text("Hi.", target_lang="XX")
    source, target = tmp_path / "letter.txt", tmp_path / "brief.txt"
    source.write_text("Hi.\nBye.\n", encoding="utf-8")
    client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
    assert target.read_text(encoding="utf-8") == "HI.\nBYE.\n"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.html", "a.srt", "a.xlf"])
def test_deepls_documents(server: Served, tmp_path: Path, name: str) -> None:
    import deepl

    client = deepl.DeepLClient("key", server_url=server.url)
    source, target = tmp_path / name, tmp_path / f"translated-{name}"
    source.write_bytes(SAMPLES[name])
    client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
    assert target.read_bytes() not in (b"", SAMPLES[name])


def use_glossaries(client: Any) -> None:
    import deepl

    assert ("en", "de") in [
        (pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()
    ]
    made = client.create_glossary("mine", "EN", "DE", {"Hi": "Servus", "Bye": "Pfiat di"})
    assert (made.name, made.source_lang, made.target_lang) == ("mine", "EN", "DE")
    assert (made.entry_count, made.ready) == (2, True)
    assert client.get_glossary(made.glossary_id).name == "mine"
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary_entries(made) == {"Hi": "Servus", "Bye": "Pfiat di"}
    found = client.translate_text("Hi.", source_lang="EN", target_lang="DE", glossary=made)
    assert found.text == "Servus."
    with pytest.raises(deepl.DeepLException, match="named"):
        client.create_glossary("mine", "EN", "DE", {"a": "b"})
    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_google_cloud_translate(server: Served) -> None:
    from google.api_core.exceptions import BadRequest
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import translate_v2

    client = translate_v2.Client(
        credentials=AnonymousCredentials(), client_options={"api_endpoint": server.url}
    )
    one = client.translate("Hi.", target_language="de", source_language="en", format_="text")
    assert one["translatedText"] == "HI."
    several = client.translate([GERMAN, "Hallo, wie geht es dir?"], target_language="en")
    assert several[0]["translatedText"] == GERMAN.upper()
    assert several[0]["detectedSourceLanguage"] == "de"
    assert client.detect_language(GERMAN)["language"] == "de"
    names = {language["language"]: language["name"] for language in client.get_languages()}
    assert names["de"] == "German"
    with pytest.raises(BadRequest, match="is not supported"):
        client.translate("Hi.", target_language="xx", source_language="en")


def test_openai(server: Served) -> None:
    from openai import BadRequestError, OpenAI

    client = OpenAI(api_key="key", base_url=f"{server.url}/v1")
    assert "en-de" in [model.id for model in client.models.list()]
    asked: Any = [{"role": "user", "content": "Hi."}]
    whole = client.chat.completions.create(model="en-de", messages=asked)
    assert whole.choices[0].message.content == "HI."
    prompt = {"role": "system", "content": "Translate into German."}
    chunks = client.chat.completions.create(model="any", messages=[prompt, *asked], stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "HI."
    with pytest.raises(BadRequestError, match="pair of languages"):
        client.chat.completions.create(model="any", messages=asked)
