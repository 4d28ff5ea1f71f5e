"""A table of what each field of each surface does. A field that is not in the table fails a test.

With the field the answer is as the table says, and without it (unless it is required) it is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from model.decoding.sentence import SourceSentence
from service.app import create_app
from service.http.models import RequestModel
from service.http.routes import deepl, google
from service.http.routes.deepl import GlossaryRequest
from service.http.routes.files import FileRequest
from service.http.routes.libretranslate import DetectRequest, SuggestRequest
from service.http.routes.small_apis import DeepLXRequest, ImmersiveRequest
from service.http.schemas import TranslateRequest
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

HEADER = "X-Ignored-Fields"
GERMAN = "Das ist ein Satz in deutscher Sprache."
GOOGLE = "/language/translate/v2"
OURS = ("next_words", "glossaries")
"""Modules of routes that no other program has: test_next_words.py and test_glossaries.py."""


@dataclass(frozen=True)
class Seen:
    """An answer, the answer without the field, and the last sentence that the engine got."""

    answer: Response
    plain: Response | None
    sentence: SourceSentence | None

    @property
    def json(self) -> Any:
        return self.answer.json()


Check = Callable[[Seen], bool]


@dataclass(frozen=True)
class Effect:
    """What a value does. `more`: other fields that it needs."""

    value: Any
    check: Check
    more: dict[str, Any]
    is_effective: bool = True


def does(value: Any, check: Check, **more: Any) -> Effect:
    return Effect(value, check, more)


def says(value: Any, words: str, **more: Any) -> Effect:
    """The answer has these words."""
    return Effect(value, lambda seen: words in seen.answer.text, more)


def refuses(value: Any, status: int, words: str, **more: Any) -> Effect:
    return Effect(
        value,
        lambda seen: seen.answer.status_code == status and words in seen.answer.text,
        more,
    )


def decodes(name: str, value: float) -> Effect:
    """An option of the engine."""

    def check(seen: Seen) -> bool:
        assert seen.sentence is not None
        return bool(getattr(seen.sentence.options, name) == value)

    return Effect(value, check, {})


def _is_unchanged(seen: Seen) -> bool:
    assert seen.plain is not None
    return seen.answer.status_code == seen.plain.status_code == 200 and (
        seen.answer.json() == seen.plain.json()
    )


def named(value: Any, name: str) -> Effect:
    """Changes nothing, and the header names it."""
    return Effect(
        value, lambda seen: _is_unchanged(seen) and seen.answer.headers.get(HEADER) == name, {}
    )


def silent(value: Any) -> Effect:
    """Changes nothing, and need not be named: another test shows what it does, or why."""
    return Effect(
        value, lambda seen: _is_unchanged(seen) and HEADER not in seen.answer.headers, {}, False
    )


def accepted(value: Any) -> Effect:
    """As `silent`, where every answer has names of its own."""
    return Effect(value, lambda seen: HEADER not in seen.answer.headers, {}, False)


TEXT_OPTIONS = {"q": "Hi.", "source": "en", "target": "de"}
MARKED = "Hi <code>you</code>."
TWO_LINES = "One line\nand more."
TERM = [{"source": "Hi", "target": "Servus"}]
DEEPL = {"text": "Hi.", "target_lang": "DE", "source_lang": "EN"}
TAGGED = {"text": "Hi <x>you</x>.", "tag_handling": "xml"}
GLOSSARY = {"name": "n", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}

TABLE: dict[type[RequestModel], tuple[str, dict[str, Any], dict[str, Effect]]] = {
    TranslateRequest: (
        "/translate",
        TEXT_OPTIONS,
        {
            "q": says("Ho.", "HO."),
            "source": says("auto", '"detectedLanguage":{"language":"de"', q=GERMAN),
            "target": refuses("zz", 400, "zz is not supported"),
            "preferred_languages": says("de", '"language":"de"', q="Pizza", source="auto"),
            "format": says("html", "<code>you</code>", q=MARKED),
            "keep": says(["Hi"], '"Hi."'),
            "split_sentences": says("nonewlines", "ONE LINE AND MORE.", q=TWO_LINES),
            "glossary": says(TERM, "[Servus]"),
            "alternatives": does(2, lambda seen: len(seen.json.get("alternatives", ())) == 2),
            "api_key": silent("k"),  # test_key_requests.py
            "secret": silent("s"),  # of LibreTranslate's own page
            "beam_size": decodes("beam_size", 3),
            "length_penalty": decodes("length_penalty", 0.5),
            "temperature": decodes("temperature", 0.5),
            "top_k": decodes("top_k", 7),
            "top_p": decodes("top_p", 0.5),
            "seed": decodes("seed", 7),
            "max_length": decodes("max_length", 50),
            "repetition_penalty": decodes("repetition_penalty", 1.5),
            "no_repeat_ngram_size": decodes("no_repeat_ngram_size", 3),
            "target_prefix": says("So ", '"So HI."'),
            "deadline_ms": refuses(1, 504, "deadline", q="Wait."),
            "details": does(True, lambda seen: "details" in seen.json),
            "model": refuses("other", 422, "model must be one of fake"),
        },
    ),
    DetectRequest: (
        "/detect",
        {"q": "Pizza"},
        {
            "q": says(GERMAN, '"language":"de"'),
            "preferred_languages": says("de", '"language":"de"'),
        },
    ),
    SuggestRequest: (
        "/suggest",
        {**TEXT_OPTIONS, "s": "Servus."},
        {
            "q": refuses(" ", 422, "q and s must have"),
            "s": refuses(" ", 422, "q and s must have"),
            "source": refuses("zz", 400, "zz is not supported"),
            "target": refuses("zz", 400, "zz is not supported"),
            "format": refuses("pdf", 422, "format must be"),
        },
    ),
    FileRequest: (
        "/translate_file",
        {"source": "en", "target": "de", "file": ("a.po", b'msgid "Hi."\nmsgstr "x"\n')},
        {
            "source": refuses("zz", 400, "zz is not supported"),
            "target": refuses("zz", 400, "zz is not supported"),
            "replace": says("true", "HI."),
            "keep": says("you", '"HI you"', file=("a.json", b'["Hi you"]')),
        },
    ),
    deepl.TextRequest: (
        "/v2/translate",
        DEEPL,
        {
            "text": says(["Hi.", "Ho."], '"HO."'),
            "target_lang": refuses("ZZ", 400, "'ZZ' is not supported"),
            "source_lang": says("EN", '"detected_source_language":"EN"', text=GERMAN),
            "formality": refuses("more", 400, "formality more is not supported"),
            "glossary_id": refuses("unknown", 404, "there is no glossary 'unknown'"),
            "auth_key": silent("k"),  # test_key_requests.py
            "context": named("A letter.", "context"),
            "split_sentences": says("nonewlines", "ONE LINE AND MORE.", text=TWO_LINES),
            "preserve_formatting": silent(True),  # formatting is always kept
            "tag_handling": says("html", "<code>you</code>", text=MARKED),
            "ignore_tags": says("x", "<x>you</x>", **TAGGED),
            "splitting_tags": does("x", lambda seen: HEADER in seen.answer.headers, **TAGGED),
            "non_splitting_tags": does("x", lambda seen: HEADER in seen.answer.headers, **TAGGED),
            "outline_detection": named(False, "outline_detection"),
            "model_type": says("latency_optimized", '"model_type_used":"latency_optimized"'),
            "show_billed_characters": says(True, '"billed_characters":3'),
        },
    ),
    deepl.DocumentRequest: (
        "/v2/document",
        {"source_lang": "EN", "target_lang": "DE", "file": ("a.txt", b"Hi.")},
        {
            "target_lang": refuses("ZZ", 400, "'ZZ' is not supported"),
            "source_lang": refuses("ZZ", 400, "'zz' is not supported"),
            "formality": refuses("less", 400, "formality less is not supported"),
            "glossary_id": refuses("unknown", 404, "there is no glossary 'unknown'"),
            "auth_key": accepted("k"),
            "filename": refuses("a.exe", 400, ".exe"),
            "output_format": refuses("docx", 400, "output_format must be txt"),
        },
    ),
    deepl.LanguagesRequest: (
        "/v2/languages",
        {},
        {"type": says("target", "supports_formality")},
    ),
    deepl.DocumentKey: (
        "/v2/document/unknown",
        {"document_key": "k"},
        {"document_key": refuses(5, 400, "document_key must be a string")},
    ),
    GlossaryRequest: (
        "/v2/glossaries",
        GLOSSARY,
        {
            "name": says("other", '"name":"other"'),
            "source_lang": refuses("zz", 400, "'zz' is not supported"),
            "target_lang": refuses("zz", 400, "'zz' is not supported"),
            "entries": says("a\tb\nc\td", '"entry_count":2'),
            "entries_format": says("csv", '"entry_count":1', entries="a,b"),
            "auth_key": accepted("k"),
        },
    ),
    google.TextRequest: (
        GOOGLE,
        TEXT_OPTIONS,
        {
            "q": says(["Hi.", "Ho."], '"HO."'),
            "target": refuses("zz", 400, "'zz' is not supported"),
            "source": does("en", lambda seen: "detected" not in seen.answer.text, q=GERMAN),
            "format": says("text", "<code>YOU</code>", q=MARKED),
            "model": named("nmt", "model"),
            "cid": named("c", "cid"),
        },
    ),
    google.DetectRequest: (GOOGLE + "/detect", {"q": "Hello you."}, {"q": says(GERMAN, '"de"')}),
    google.LanguagesRequest: (
        GOOGLE + "/languages",
        {},
        {"target": says("de", "Englisch"), "model": named("nmt", "model")},
    ),
    DeepLXRequest: (
        "/v1/translate",
        DEEPL,
        {
            "text": says("Ho.", '"HO."'),
            "target_lang": refuses("ZZ", 400, "'ZZ' is not supported"),
            "source_lang": says("EN", '"source_lang":"EN"', text=GERMAN),
            "tag_handling": says("html", "<code>you</code>", text=MARKED),
        },
    ),
    ImmersiveRequest: (
        "/immersive",
        {"text_list": ["Hi."], "source_lang": "en", "target_lang": "de"},
        {
            "text_list": says(["Hi.", "Ho."], '"HO."'),
            "target_lang": refuses("zz", 400, "zz is not supported"),
            "source_lang": says("en", '"detected_source_lang":"en"', text_list=[GERMAN]),
        },
    ),
}
IS_GET = {deepl.LanguagesRequest}


def surfaces() -> set[type[RequestModel]]:
    """The models of all requests that other programs' APIs have."""
    found: set[type[RequestModel]] = set()
    waiting = [RequestModel]
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        waiting.extend(subclasses)
        found.update(subclasses)
    ours = {f"service.http.routes.{name}" for name in OURS}
    return {m for m in found - {deepl.DeepLRequest} if m.__module__ not in ours}


def test_the_table_has_every_field_of_every_surface() -> None:
    assert set(TABLE) == {m for m in surfaces() if m.__module__.startswith("service.")}
    for model, (_, _, effects) in TABLE.items():
        assert set(effects) == set(model.model_fields), model


@pytest.fixture(scope="module")
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture(scope="module")
def client(runner: FakeRunner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    pairs = (("en", "de"), ("de", "en"), ("de", "de"), ("en", "en"))
    database = tmp_path_factory.mktemp("database") / "server.db"
    settings = Settings(database=database, suggestions=True, cache_bytes=0)
    with TestClient(create_app(settings, [fake_model(runner, pairs=pairs)])) as client:
        yield client


def send(client: TestClient, model: type[RequestModel], fields: dict[str, Any]) -> Response:
    path = TABLE[model][0]
    if model is GlossaryRequest:  # their names are unique
        for one in client.get(path).json()["glossaries"]:
            client.delete(f"{path}/{one['glossary_id']}")
    if model in IS_GET:
        return client.get(path, params=fields)
    if "file" in fields:
        data = {name: value for name, value in fields.items() if name != "file"}
        answer = client.post(path, data=data, files={"file": fields["file"]})
        url = answer.json().get("translatedFileUrl")
        return client.get(url) if url else answer
    return client.post(path, json=fields)


CASES = [(model, name) for model, (_, _, effects) in TABLE.items() for name in effects]


@pytest.mark.parametrize(("model", "name"), CASES)
def test_a_field_does_what_the_table_says(
    client: TestClient,
    runner: FakeRunner,
    monkeypatch: pytest.MonkeyPatch,
    model: type[RequestModel],
    name: str,
) -> None:
    _, base, effects = TABLE[model]
    effect, sentences = effects[name], watched(runner, monkeypatch)
    if name == "deadline_ms":
        runner.gate.clear()
        threading.Timer(0.2, runner.gate.set).start()
    fields = {**base, **effect.more}
    is_required = model.model_fields[name].is_required()
    without = {known: value for known, value in fields.items() if known != name}
    plain = None if is_required or name == "deadline_ms" else send(client, model, without)
    if plain is not None and effect.is_effective:
        assert not effect.check(Seen(plain, plain, sentences[-1] if sentences else None))
    answer = send(client, model, {**fields, name: effect.value})
    runner.gate.set()
    seen = Seen(answer, plain, sentences[-1] if sentences else None)
    assert effect.check(seen), (answer.status_code, answer.text, dict(answer.headers))


def watched(runner: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> list[SourceSentence]:
    """What the engine admits from now on."""
    sentences: list[SourceSentence] = []
    admit = runner.admit

    def watch(admitted: Any) -> list[int]:
        sentences.extend(admitted)
        return admit(admitted)

    monkeypatch.setattr(runner, "admit", watch)
    return sentences


STRICT = {"Prefer": "handling=strict"}


@pytest.mark.parametrize("model", TABLE)
def test_an_unknown_field_is_named_and_refused_to_the_strict(
    client: TestClient, model: type[RequestModel]
) -> None:
    path, base, _ = TABLE[model]
    fields = {name: value for name, value in base.items() if name != "file"}
    files = {"file": base["file"]} if "file" in base else None
    for headers in ({}, STRICT):
        if model in IS_GET:
            answer = client.get(path, params={**fields, "mood": "happy"}, headers=headers)
        elif files:
            data = {**fields, "mood": "happy"}
            answer = client.post(path, data=data, files=files, headers=headers)
        else:
            answer = client.post(path, json={**fields, "mood": "happy"}, headers=headers)
        if headers:
            assert answer.status_code in (400, 422), answer.text
            assert "unknown field 'mood'" in answer.text
        else:
            assert answer.headers[HEADER] == "mood"
