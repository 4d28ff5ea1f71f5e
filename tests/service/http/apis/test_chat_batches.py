"""Several texts in one message of a chat, as JSON: the answer is JSON of the same form."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from service.http.chat_batches import read_batch

SYSTEM = "You are a professional subtitle translator specializing in German."
TEXTS = ["Hi there.", 'She said "hi".\n\\o/', "<i1>Hi</i1> & <b>you</b> 😀", "", " "]
STRINGS = st.text(st.sampled_from('aZ ":,{}[]\\/\n\té😀\ud7ff'), max_size=6)
VALUES = st.recursive(
    STRINGS | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
)


def content(client: TestClient, text: str, *, stream: bool, model: str = "gpt-4o") -> str:
    """What the assistant says, read as clients of OpenAI's or Ollama's streams and answers do."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    asked = {"model": model, "messages": messages, "stream": stream}
    own = client.post("/api/chat", json=asked)
    theirs = client.post("/v1/chat/completions", json=asked)
    assert own.status_code == theirs.status_code == 200, own.text
    lines = map(json.loads, own.text.splitlines())
    said = "".join(one["message"]["content"] for one in lines)
    if stream:
        chunks = theirs.text.split("\n\n")[:-2]
        deltas = [json.loads(one.removeprefix("data: "))["choices"][0]["delta"] for one in chunks]
        assert "".join(one.get("content", "") for one in deltas) == said
    else:
        assert theirs.json()["choices"][0]["message"]["content"] == said
    return said


def alone(client: TestClient, text: str) -> str:
    """The translation of one text."""
    asked = {"q": text, "source": "en", "target": "de", "format": "auto"}
    translated = client.post("/translate", json=asked).json()["translatedText"]
    assert isinstance(translated, str)
    return translated


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["dragoman", "en-de", "de-en"])
def test_kiss_translators_segments_come_back_with_their_ids(
    client: TestClient, model: str, stream: bool
) -> None:
    segments = [{"id": number, "text": text} for number, text in enumerate(TEXTS, 3)]
    asked = {"targetLanguage": "de", "title": "A page", "segments": segments, "tone": "formal"}
    found = json.loads(content(client, json.dumps(asked), model=model, stream=stream))
    assert [(one["id"], one["text"]) for one in found["translations"]] == [
        (number, alone(client, text)) for number, text in enumerate(TEXTS, 3)
    ]
    assert found["translations"][0]["sourceLanguage"] == "en"
    blank = json.dumps({"targetLanguage": "de", "segments": [{"id": 1, "text": ""}]})
    (one,) = json.loads(content(client, blank, stream=stream))["translations"]
    assert one["text"] == ""


def test_a_glossary_of_segments_is_used(client: TestClient) -> None:
    """A term without a translation stays."""
    segments = [{"id": 0, "text": "The dog and the cat."}]
    asked = {"targetLanguage": "de", "segments": segments, "glossary": {"dog": "Hund", "cat": ""}}
    (one,) = json.loads(content(client, json.dumps(asked), stream=False))["translations"]
    assert one["text"] == "THE Hund AND THE cat."


@pytest.mark.parametrize(
    ("before", "name"),
    [("", ""), ("", "json"), ("Preceding:\nThe end.\n\nGlossary:\na -> b\n\nInput:\n", "jsonline")],
)
def test_json_may_stand_in_a_fence_that_is_the_message_or_ends_it(
    client: TestClient, before: str, name: str
) -> None:
    lines = '{"0":"Hi there."}\n{"1":"Bye."}'
    found = content(client, f"{before}```{name}\n{lines}\n```", stream=False)
    assert found.splitlines() == ['{"0":"HI THERE."}', '{"1":"BYE."}']


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "before", ["", "Translate to German:\n", "Translate the JSON to German.\n\n```json\n"]
)
def test_values_of_json_are_translated_each_by_itself(
    client: TestClient, before: str, stream: bool
) -> None:
    asked = {str(number): text for number, text in enumerate(TEXTS)}
    expected = {name: alone(client, text) for name, text in asked.items()}
    text = before + json.dumps(asked, indent=2) + ("\n```" if "`" in before else "")
    assert json.loads(content(client, text, stream=stream)) == expected
    lines = "\n".join(json.dumps({name: text}) for name, text in asked.items())
    found = content(client, f"Translate to German:\n{lines}", stream=stream).splitlines()
    assert [json.loads(line) for line in found] == [{name: expected[name]} for name in expected]


def shouted(value: Any) -> Any:
    """The value with its strings in capitals."""
    if isinstance(value, dict):
        return {name: shouted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shouted(inner) for inner in value]
    return value.upper() if isinstance(value, str) else value


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_only_the_strings_of_json_that_are_no_keys_change(
    value: Any, indent: int | None, is_ascii: bool
) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    batch = read_batch(f"\n{written} ")
    if batch is None:
        has_text = json.loads(written) != shouted(value)
        assert not (isinstance(value, dict | list) and has_text)
        return
    translations: Any = [SimpleNamespace(text=text.upper()) for text in batch.texts]
    answer = batch.content(translations, "auto")
    assert json.loads(answer) == shouted(value)


@pytest.mark.parametrize(
    "text",
    [
        "[Music]",
        "{name}",
        "{}",
        "[1, 2]",
        '"Hi"',
        '[Hi] "you" {there}',
        '{"a": "b"',
        "[12:30]",
        "{]",
        "```",
        "A file:\n```json\n['a']\n```".replace("'", '"'),
        "```python\nx\n```",
    ],
)
def test_what_is_no_json_with_strings_is_a_text(text: str) -> None:
    assert read_batch(text) is None


@pytest.mark.parametrize(
    ("target", "model", "told"),
    [("xx", "dragoman", "'xx' is not supported"), (5, "dragoman", None), ("xx", "en-de", None)],
)
def test_an_unknown_language_of_segments_is_told_unless_the_model_has_one(
    client: TestClient, target: object, model: str, told: str | None
) -> None:
    asked = json.dumps({"targetLanguage": target, "segments": [{"id": 0, "text": "Hi."}]})
    answer = client.post("/api/generate", json={"model": model, "prompt": asked, "stream": False})
    if told:
        assert (answer.status_code, told in answer.text) == (400, True)
    elif model == "en-de":
        assert "HI." in answer.json()["response"]
