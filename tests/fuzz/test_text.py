"""Any text with any options is translated or clearly refused, whole and as a stream; whatever is
long in a request is answered, or refused by a short error, on every surface."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

from service.http.routes.websocket import PATH as STREAM
from service.http.translate_request import TranslateRequest
from tests.fuzz.conftest import MOST_CHARACTERS
from tests.fuzz.strings import any_text, texts
from tests.service.served import Served

LANGUAGES = ("zh", "en", "de")
REFUSALS = {400, 413, 422}
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "format": st.sampled_from(["text", "html", "auto"]),
    "split_sentences": st.sampled_from([True, False, "nonewlines"]),
    "alternatives": st.integers(0, 4),
    "beam_size": st.integers(1, 4),
    "temperature": st.floats(0.1, 2),
    "top_k": st.integers(0, 20),
    "top_p": st.floats(0, 1),
    "seed": st.integers(0, 2**31),
    "length_penalty": st.floats(0, 2),
    "max_length": st.integers(1, 16),
    "repetition_penalty": st.floats(0.5, 2),
    "no_repeat_ngram_size": st.integers(0, 4),
    "target_prefix": texts,
    "details": st.sampled_from([True, False, "attention", "search"]),
    "keep": st.one_of(texts, st.lists(texts, max_size=3)),
    "glossary": st.lists(
        st.fixed_dictionaries(
            {"source": texts, "target": texts}, optional={"case_sensitive": st.booleans()}
        ),
        max_size=3,
    ),
    "preferred_languages": st.lists(texts, max_size=3),
}
some_options = st.lists(st.sampled_from(sorted(OPTIONS)), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: OPTIONS[name] for name in names})
)
sources, targets = st.sampled_from(["auto", *LANGUAGES]), st.sampled_from(LANGUAGES)


def post(
    server: Served, fields: dict[str, Any], accept: str = "application/json"
) -> httpx.Response:
    content = json.dumps(fields).encode()  # surrogates as escapes
    headers = {"Content-Type": "application/json", "Accept": accept}
    url = f"{server.url}/translate"
    return httpx.post(url, content=content, headers=headers, timeout=120)


def check_refusal(answer: httpx.Response) -> None:
    assert answer.status_code in REFUSALS, answer.text
    assert len(answer.content) < 2000
    assert answer.json()["error"]


def test_any_text_with_any_options_is_answered(server: Served, fuzz_profile: settings) -> None:
    @fuzz_profile
    @given(st.one_of(any_text, st.lists(any_text, max_size=4)), sources, targets, some_options)
    def check(q: str | list[str], source: str, target: str, chosen: dict[str, Any]) -> None:
        fields = {"q": q, "source": source, "target": target, **chosen}
        answer = post(server, fields)
        if answer.status_code != 200:
            check_refusal(answer)
            return
        translated = answer.json()["translatedText"]
        assert isinstance(translated, type(q))
        assert len(translated) == len(q) or isinstance(q, str)
        assert answer.content.decode("utf-8")

    check()
    assert 'outcome="error"' not in server.metrics()


def test_the_pieces_of_any_text_are_its_translation(server: Served, fuzz_profile: settings) -> None:
    @fuzz_profile
    @given(any_text, sources, targets, st.sampled_from(["text", "html", "auto"]), st.integers(1, 3))
    def check(q: str, source: str, target: str, form: str, beam_size: int) -> None:
        fields = {"q": q, "source": source, "target": target, "format": form}
        fields |= {"beam_size": beam_size}
        answer = post(server, fields, "text/event-stream")
        if answer.status_code != 200:
            check_refusal(answer)
            return
        events = [event.split("\n") for event in answer.text.split("\n\n") if event]
        read = [(lines[0].removeprefix("event: "), json.loads(lines[1][6:])) for lines in events]
        *tokens, (last, final) = read
        assert last == "final", final
        assert {name for name, _ in tokens} <= {"token"}
        assert "".join(piece["text"] for _, piece in tokens) == final["translatedText"]

    check()
    assert 'outcome="error"' not in server.metrics()


def test_any_beginning_has_next_words_or_is_refused(server: Served, fuzz_profile: settings) -> None:
    @fuzz_profile
    @given(any_text, texts, sources, targets, st.integers(1, 10))
    def check(q: str, prefix: str, source: str, target: str, k: int) -> None:
        fields = {"q": q, "prefix": prefix, "source": source, "target": target, "k": k}
        answer = httpx.post(f"{server.url}/translate/next", json=fields, timeout=120)
        if answer.status_code != 200:
            check_refusal(answer)
        else:
            assert len(answer.json()["words"]) <= k

    check()
    assert 'outcome="error"' not in server.metrics()


SURROGATES = ("\\ud800", "\\udc00\\ud800", "a\\ud800b")
ENGLISH = '"source": "en", "target": "de"'
BODIES = {
    '{"q": "%s", ' + ENGLISH + "}": ("/translate", "/translate/next", "/detect", "/suggest"),
    '{"q": "a", "%s": 1, ' + ENGLISH + "}": ("/translate", "/language/translate/v2"),
    '{"q": "a", "glossary": [{"source": "%s", "target": "a"}], ' + ENGLISH + "}": ("/translate",),
    '{"name": "%s", "entries": [{"source": "a", "target": "%s"}], ' + ENGLISH + "}": (
        "/glossaries",
    ),
    '{"text": "%s", "target_lang": "DE"}': ("/v2/translate", "/v1/translate"),
    '{"text_list": ["%s"], "target_lang": "de"}': ("/immersive",),
    '{"name": "%s", "source_lang": "EN", "target_lang": "DE", "entries": "a\\t%s"}': (
        "/v2/glossaries",
    ),
    '{"document_key": "%s"}': ("/v2/document/a",),
}


@pytest.mark.parametrize("body", BODIES)
def test_lone_surrogates_are_answered_on_every_route(server: Served, body: str) -> None:
    for path in BODIES[body]:
        for escape in SURROGATES:
            content = body.replace("%s", escape).encode()
            headers = {"Content-Type": "application/json"}
            answer = httpx.post(server.url + path, content=content, headers=headers, timeout=60)
            assert answer.status_code < 500, (path, answer.text)


@pytest.mark.parametrize("piece", ["a", "\u0301", "<"])
@pytest.mark.parametrize("form", ["text", "html"])
def test_one_word_of_a_hundred_thousand_characters_is_answered(
    server: Served, piece: str, form: str
) -> None:
    q = (piece * MOST_CHARACTERS)[:MOST_CHARACTERS]
    fields = {"q": q, "source": "en", "target": "zh", "format": form}
    answer = post(server, {**fields, "beam_size": 1, "max_length": 1})
    assert answer.status_code in (200, 413), answer.text


LONG, HEAD_BYTES, BODY_BYTES = 900_000, 32 * 1024, 2**20
SHORT = 2500
"""More bytes than any refusal has."""
FIELDS = {"q": "a", "source": "en", "target": "de"}
VALUES: list[Any] = ["x" * LONG, "[" + "[]," * (LONG // 3 - 2) + "[]]", ["x" * LONG], ["x"] * 9000]
PATHS = ("/translate", "/v2/translate", "/language/translate/v2", STREAM)
HEADERS = ("authorization", "content-type", "origin", "x-request-id", "x-goog-api-key", "x-any")


def is_refused(answer: httpx.Response) -> bool:
    """Whether it is a short error in JSON; a right answer else."""
    assert 200 <= answer.status_code < 500, answer.text[:SHORT]
    if answer.status_code >= 400:
        assert len(answer.content) < SHORT
        assert answer.json()
    return answer.status_code >= 400


@pytest.mark.parametrize("field", ["ignored", *TranslateRequest.model_fields])
def test_a_long_value_of_any_field_is_answered_or_refused(server: Served, field: str) -> None:
    for value in VALUES:
        answer = httpx.post(f"{server.url}/translate", json={**FIELDS, field: value}, timeout=60)
        assert is_refused(answer) or field == "ignored"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", HEADERS)
def test_a_long_header_is_answered_or_refused(server: Served, name: str, path: str) -> None:
    for size in (1000, HEAD_BYTES - 300, 2 * HEAD_BYTES):
        answer = httpx.post(server.url + path, headers={name: "x" * size}, content=b"{}")
        assert is_refused(answer) or size < HEAD_BYTES


@pytest.mark.parametrize("size", [BODY_BYTES, BODY_BYTES + 1])
def test_a_body_may_have_as_many_bytes_as_the_server_says(server: Served, size: int) -> None:
    body = json.dumps({**FIELDS, "ignored": ""}).removesuffix('"}')
    answer = httpx.post(
        f"{server.url}/translate",
        content=body + "x" * (size - len(body) - 2) + '"}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == (413 if size > BODY_BYTES else 200)


def test_a_long_value_in_a_message_is_answered_or_refused(server: Served) -> None:
    with connect(f"ws://127.0.0.1:{server.port}{STREAM}", max_size=None, proxy=None) as client:
        for field in ("id", "cancel", "ignored", "q", "glossary"):
            for value in VALUES:
                client.send(json.dumps({"id": "a", **FIELDS, field: value}))
                answer: dict[str, Any] = {"type": "token"}
                while answer["type"] == "token":
                    answer = json.loads(client.recv(timeout=60))
                assert answer.get("code") not in ("internal_error", "overloaded")
                assert len(answer.get("error", "")) < SHORT
