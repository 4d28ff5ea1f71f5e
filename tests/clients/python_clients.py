"""Real Python clients of LibreTranslate, DeepL and Google, pointed at this server.

Run by `make clients-test`, because it installs them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from service.app import create_app
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.clients.conftest import PAIRS
from tests.service.documents.samples import SAMPLES
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.served import Served, served

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients' own
GERMAN = "Das ist ein Satz in deutscher Sprache."


@pytest.fixture
def key(tmp_path: Path) -> str:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        return store.create(KeyOptions(characters_per_month=10))[0]


@pytest.fixture
def keyed(tmp_path: Path, key: str) -> Iterator[Served]:
    settings = Settings(database=tmp_path / "server.db", api_keys="required")
    with served(create_app(settings, [fake_model(FakeRunner(), pairs=PAIRS)])) as server:
        yield server


def test_libretranslatepy(server: Served, keyed: Served, key: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url + "/", "key")
    assert client.translate("Hi.", "en", "de") == "HI."
    assert client.detect(GERMAN)[0]["language"] == "de"
    assert LibreTranslateAPI(keyed.url + "/", key).translate("Hi.", "en", "de") == "HI."
    for wrong in (None, "wrong"):
        with pytest.raises(HTTPError) as refused:
            LibreTranslateAPI(keyed.url + "/", wrong).translate("Hi.", "en", "de")
        assert refused.value.code in (401, 403)


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
    for variant in ("DE-CH", "ES-419", "ZH-HANS", "ZH-HANT"):
        assert client.translate_text("12.", source_lang="EN", target_lang=variant).text == "12."
    for missing in ("FR-CA", "PT-BR", "XX"):
        with pytest.raises(deepl.DeepLException, match="target_lang.*supported: EN-GB, EN-US, DE"):
            client.translate_text("Hi.", target_lang=missing)
    source, target = tmp_path / "letter.txt", tmp_path / "brief.txt"
    source.write_text("Hi.\nBye.\n", encoding="utf-8")
    client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
    assert target.read_text(encoding="utf-8") == "HI.\nBYE.\n"


def test_deepls_keys_and_quota(keyed: Served, key: str) -> None:
    import deepl

    client = deepl.DeepLClient(key, server_url=keyed.url)
    assert client.translate_text("Hello.", source_lang="EN", target_lang="DE").text == "HELLO."
    usage = client.get_usage().character
    assert (usage.count, usage.limit) == (6, 10)
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_text("Hello.", source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=keyed.url).get_usage()


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.html", "a.srt", "a.xlf"])
def test_deepls_documents(server: Served, tmp_path: Path, name: str) -> None:
    import deepl

    client = deepl.DeepLClient("key", server_url=server.url)
    source, target = tmp_path / name, tmp_path / f"translated-{name}"
    source.write_bytes(SAMPLES[name])
    client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
    assert target.read_bytes() not in (b"", SAMPLES[name])


def test_deepls_documents_are_polled(tmp_path: Path) -> None:
    """The upload is answered at once, so no time-out of a proxy ends a long translation."""
    import deepl

    runner = FakeRunner()
    with served(create_app(Settings(), [fake_model(runner, pairs=PAIRS)])) as server:
        client = deepl.DeepLClient("key", server_url=server.url)
        runner.gate.clear()
        pair = {"source_lang": "EN", "target_lang": "DE"}
        handle = client.translate_document_upload("Hi.\n" * 1000, **pair, filename="a.txt")
        status = client.translate_document_get_status(handle)
        assert (status.ok, status.done) == (True, False)
        with pytest.raises(deepl.DeepLException, match="not ready"):
            client.translate_document_download(handle, io.BytesIO())
        runner.gate.set()
        until(lambda: client.translate_document_get_status(handle).done)
        status = client.translate_document_get_status(handle)
        assert (status.seconds_remaining, status.billed_characters) == (0, 4000)
        found = io.BytesIO()
        client.translate_document_download(handle, found)
        assert found.getvalue() == b"HI.\n" * 1000
        handle = client.translate_document_upload(b"no archive", **pair, filename="a.docx")
        until(lambda: not client.translate_document_get_status(handle).ok)
        status = client.translate_document_get_status(handle)
        assert "ZIP" in str(status.error_message)


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


def google_client(url: str, **headers: str) -> Any:
    """Headers are sent with every request."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import translate_v2

    options = {"api_endpoint": url}
    client = translate_v2.Client(credentials=AnonymousCredentials(), client_options=options)
    client._connection._EXTRA_HEADERS = headers
    return client


def test_google_cloud_translate(server: Served, keyed: Served, key: str) -> None:
    from google.api_core.exceptions import BadRequest, Forbidden

    client, hi = google_client(server.url), {"values": "Hi.", "source_language": "en"}
    one = client.translate(**hi, target_language="de", format_="text")
    assert one["translatedText"] == "HI."
    several = client.translate([GERMAN, "Hallo, wie geht es dir?"], target_language="en")
    assert several[0]["translatedText"] == GERMAN.upper()
    assert several[0]["detectedSourceLanguage"] == "de"
    assert client.detect_language(GERMAN)["language"] == "de"
    names = {language["language"]: language["name"] for language in client.get_languages()}
    assert names["de"] == "German"
    with pytest.raises(BadRequest, match="is not supported"):
        client.translate(**hi, target_language="xx")
    with_key = google_client(keyed.url, **{"X-Goog-Api-Key": key})
    assert with_key.translate(**hi, target_language="de")["translatedText"] == "HI."
    with pytest.raises(BadRequest, match="API key not valid"):
        google_client(keyed.url, **{"X-Goog-Api-Key": "wrong"}).translate(**hi)
    with pytest.raises(Forbidden, match="missing a valid API key"):
        google_client(keyed.url).translate(**hi)


def test_openai(server: Served) -> None:
    from openai import BadRequestError, OpenAI

    client = OpenAI(api_key="key", base_url=f"{server.url}/v1")
    assert client.models.retrieve("en-de").id in [model.id for model in client.models.list()]
    asked: Any = [{"role": "user", "content": "Hi."}]
    whole = client.chat.completions.create(model="en-de", messages=asked)
    assert whole.choices[0].message.content == "HI."
    assert whole.usage is not None
    assert whole.usage.total_tokens == 6
    prompt = {"role": "system", "content": "Translate into German."}
    chunks = client.chat.completions.create(model="any", messages=[prompt, *asked], stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "HI."
    with pytest.raises(BadRequestError, match="pair of languages"):
        client.chat.completions.create(model="any", messages=asked)


def test_ollama(server: Served) -> None:
    from ollama import Client, ResponseError

    with Client(host=server.url) as client:
        assert "en-de:latest" in [one.model for one in client.list().models]
        asked: Any = [{"role": "user", "content": "Translate to German: Hi."}]
        whole = client.chat(model="dragoman", messages=asked)
        assert (whole.message.content, whole.done_reason) == ("HI.", "stop")
        chunks = client.chat(model="dragoman", messages=asked, stream=True)
        assert "".join(chunk.message.content or "" for chunk in chunks) == "HI."
        assert client.generate(model="en-de", prompt="Hi.").response == "HI."
        assert (
            "".join(one.response for one in client.generate("en-de", "Hi.", stream=True)) == "HI."
        )
        with pytest.raises(ResponseError, match="pair of languages"):
            client.generate(model="gemma2", prompt="Hi.")
