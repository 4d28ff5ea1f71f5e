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


def test_chinese_lines_are_joined_without_a_space(client: TestClient) -> None:
    answer = ask(
        client,
        q="我喜欢\n你，3\n4\n个",
        source="zh",
        target="en",
        split_sentences="nonewlines",
        details=True,
    )
    assert sentences(answer) == ["我喜欢你，3 4 个"]
    assert answer["translatedText"] == "我喜欢你，3 4 个"


@pytest.mark.parametrize("split", [False, "nonewlines"])
def test_what_the_model_cannot_take_whole_is_still_cut(client: TestClient, split: Any) -> None:
    q = "one two\nthree, " * 8
    answer = ask(client, q=q, source="en", target="de", split_sentences=split, details=True)
    assert len(sentences(answer)) > 2
    assert answer["translatedText"].split() == q.upper().split()


@pytest.mark.parametrize("split", [True, False, "nonewlines"])
@pytest.mark.parametrize(
    "q", ["\n", "\n\na\n\n", "a \n b", "\r\na\r", "{x}\n{y} a\n{z}", "<b>a\nb</b>\nc"]
)
def test_odd_line_breaks_lose_no_word(client: TestClient, q: str, split: Any) -> None:
    answer = ask(client, q=q, source="en", target="de", split_sentences=split)["translatedText"]
    assert answer.lower().split() == q.split()


def test_html_may_be_one_sentence_a_block(client: TestClient) -> None:
    q = "<p>One <b>day.</b> Two days.</p><p>It is.</p>"
    answer = ask(
        client, q=q, source="en", target="de", format="html", split_sentences=False, details=True
    )
    assert sentences(answer) == ["One day. Two days.", "It is."]


@pytest.mark.parametrize("split", ["no", 2, "", []])
def test_other_values_are_refused(client: TestClient, split: Any) -> None:
    fields = {"q": "a", "source": "en", "target": "de", "split_sentences": split}
    answer = client.post("/translate", json=fields)
    assert answer.status_code == 422
    assert 'split_sentences must be true or false or "nonewlines"' in answer.json()["error"]


@pytest.mark.parametrize(
    ("split", "number"), [("0", 2), (0, 2), ("1", 5), (None, 5), ("nonewlines", 3)]
)
def test_deepls_values(client: TestClient, runner: Any, split: Any, number: int) -> None:
    fields = {"text": [WRAPPED], "source_lang": "EN", "target_lang": "DE", "split_sentences": split}
    answer = client.post("/v2/translate", json=fields)
    assert answer.status_code == 200
    assert "X-Ignored-Fields" not in answer.headers
    assert len(runner.admitted) == number
