"""Every field: what it refuses, in plain English, and how its values are spelled in a form."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.http.schemas import TranslateRequest

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
CODE = "a string of at most 64 characters"
KEY = "a string of at most 512 characters"
NAME = "a string of at most 255 characters"
CODES = "a string or a list of at most 20 strings, each of at most 64 characters"
TEXTS = "a string or a list of strings"
ALLOWED = {
    "q": TEXTS,
    "source": CODE,
    "target": CODE,
    "preferred_languages": CODES,
    "format": '"text" or "html" or "auto"',
    "keep": "a string or a list of at most 100 strings, each of at most 200 characters and not "
    "only spaces",
    "split_sentences": 'true or false or "nonewlines"',
    "glossary": "the name of a stored glossary or a list of "
    '{"source", "target", "case_sensitive"?}',
    "alternatives": "a whole number from 0 to 15",
    "api_key": KEY,
    "secret": KEY,
    "beam_size": "a whole number from 1 to 64",
    "length_penalty": "a number from 0 to 10",
    "temperature": "a number from 0.01 to 100",
    "top_k": "a whole number from 0 to 2147483647",
    "top_p": "a number from 0 to 1",
    "seed": "a whole number from 0 to 9223372036854775807",
    "max_length": "a whole number from 1 to 100000",
    "repetition_penalty": "a number from 0.1 to 10",
    "no_repeat_ngram_size": "a whole number from 0 to 20",
    "target_prefix": TEXTS,
    "deadline_ms": "a whole number from 1 to 3600000",
    "details": 'true or false or "attention" or "search"',
    "model": NAME,
}
SECRETS = ("api_key", "secret")
WRONG = {"a": [1, 2]}
WHOLE_SPELLINGS = ("1_0", "4.0", "+1", " 1", "１", "nan", "Infinity", "1e0", "0x1", "", "1" * 5000)
NUMBER_SPELLINGS = ("1_0.0", "+1", "1.0 ", "１.0", "NaN", "1e999", ".5", "1.", "", "false")
FLAG_SPELLINGS = ("True", "yes", "on", "1", "0", " true", "")


def test_the_table_has_every_field() -> None:
    assert set(ALLOWED) == set(TranslateRequest.model_fields)


def refusal(client: TestClient, name: str, got: str, **sent: Any) -> None:
    answer = client.post("/translate", **sent)
    expected = f"{name} must be {ALLOWED[name]}" + ("" if name in SECRETS else f", got {got}")
    assert (answer.status_code, answer.json()["error"]) == (422, expected)


def test_what_a_field_refuses_is_said_in_plain_english(client: TestClient) -> None:
    for name in ALLOWED:
        refusal(client, name, "{'a': [1, 2]}", json={**FIELDS, name: WRONG})


def test_a_fields_second_value_in_a_form_is_refused(client: TestClient) -> None:
    for name in ("beam_size", "temperature", "source", "details", "model"):
        refusal(client, name, "['1', '2']", data={**FIELDS, name: ["1", "2"]})


def test_a_long_string_is_refused_with_its_length(client: TestClient) -> None:
    for name, most in (("source", 64), ("api_key", 512), ("model", 255)):
        answer = client.post("/translate", json={**FIELDS, name: "x" * 900_000})
        expected = f"{name} must have at most {most} characters, got 900000"
        assert (answer.status_code, answer.json()["error"]) == (422, expected)


def test_the_prefixes_have_no_more_characters_than_a_text_may_have(client: TestClient) -> None:
    for prefix in ("x" * 1001, ["x" * 501, "x" * 500]):
        answer = client.post("/translate", json={**FIELDS, "target_prefix": prefix})
        assert (answer.status_code, answer.json()["code"]) == (413, "text_too_long")
        expected = "target_prefix has 1001 characters, at most 1000 are allowed"
        assert answer.json()["error"] == f"request exceeds text limit: {expected}"


@pytest.mark.parametrize(
    ("name", "spellings"),
    [("beam_size", WHOLE_SPELLINGS), ("top_p", NUMBER_SPELLINGS), ("details", FLAG_SPELLINGS)],
)
def test_a_forms_numbers_and_flags_are_spelled_as_in_json(
    client: TestClient, name: str, spellings: tuple[str, ...]
) -> None:
    for value in spellings:
        answer = client.post("/translate", data={**FIELDS, name: value})
        assert answer.status_code == 422, (value, answer.text)
        assert answer.json()["error"].startswith(f"{name} must be {ALLOWED[name]}, got ")


def test_good_spellings_are_understood(client: TestClient) -> None:
    for fields in (
        {"alternatives": "1", "beam_size": "4", "length_penalty": "1e-1", "details": "true"},
        {"seed": "9223372036854775807", "temperature": "1", "top_p": "0.5", "details": "false"},
        {"max_length": "100", "repetition_penalty": "1.5E0", "no_repeat_ngram_size": "-0"},
    ):
        answer = client.post("/translate", data={**FIELDS, **fields})
        assert answer.status_code == 200, answer.text
        assert ("details" in answer.json()) == (fields.get("details") == "true")
