"""split_sentences: where a sentence ends, over every way to ask."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.http.routes.test_markup import (
    Post,
    by_events,
    by_form,
    by_json,
    by_websocket,
)
from tests.service.http.routes.test_translate import ask

WRAPPED = "the sea is\nblue. it is\r\ndeep.\n\nbye\n"


def sentences(answer: dict[str, Any]) -> list[str]:
    return [sentence["source"] for sentence in answer["details"][0]["sentences"]]


@pytest.mark.parametrize("post", [by_json, by_form, by_events, by_websocket])
@pytest.mark.parametrize(
    ("split", "expected", "text"),
    [
        (
            "true",
            ["the sea is", "blue.", "it is", "deep.", "bye"],
            "THE SEA IS\nBLUE. IT IS\r\nDEEP.\n\nBYE\n",
        ),
        (
            "nonewlines",
            ["the sea is blue.", "it is deep.", "bye"],
            "THE SEA IS BLUE. IT IS DEEP.\n\nBYE\n",
        ),
        ("false", ["the sea is blue. it is deep.", "bye"], "THE SEA IS BLUE. IT IS DEEP.\n\nBYE\n"),
    ],
)
def test_sentences_end_where_the_request_says(
    client: TestClient, post: Post, split: str, expected: list[str], text: str
) -> None:
    value: Any = {"true": True, "false": False}.get(split, split)
    is_form = post is by_form
    fields = {"q": WRAPPED, "split_sentences": split if is_form else value}
    answer = post(client, **fields, details="true" if is_form else True)
    assert (sentences(answer), answer["translatedText"]) == (expected, text)


def test_a_line_break_between_sentences_stays(client: TestClient) -> None:
    q = "one day.\nTwo days. "
    for split in (True, "nonewlines"):
        assert ask(client, q=q, source="en", target="de", split_sentences=split)[
            "translatedText"
        ] == ("ONE DAY.\nTWO DAYS. ")


def test_html_may_be_one_sentence_a_block(client: TestClient) -> None:
    q = "<p>One <b>day.</b> Two days.</p><p>It is.</p>"
    answer = ask(
        client, q=q, source="en", target="de", format="html", split_sentences=False, details=True
    )
    assert sentences(answer) == ["One day. Two days.", "It is."]


@pytest.mark.parametrize(
    ("split", "number"), [("0", 2), (0, 2), ("1", 5), (None, 5), ("nonewlines", 3)]
)
def test_deepls_values(client: TestClient, runner: Any, split: Any, number: int) -> None:
    fields = {"text": [WRAPPED], "source_lang": "EN", "target_lang": "DE", "split_sentences": split}
    answer = client.post("/v2/translate", json=fields)
    assert answer.status_code == 200
    assert "X-Ignored-Fields" not in answer.headers
    assert len(runner.admitted) == number
