"""Google's Basic API: what becomes of every field, its errors, and what rude clients get."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

PATH = "/language/translate/v2"
FIELDS: dict[str, Any] = {"q": ["Hi."], "source": "en", "target": "de"}
ANSWER = {"data": {"translations": [{"translatedText": "HI."}]}}


def ask(client: TestClient, **fields: Any) -> Response:
    return client.post(PATH, json={**FIELDS, **fields})


def refused(answer: Response, status: int) -> str:
    """The message of Google's error object; a string there would crash its client."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert (answer.json().keys(), error["code"]) == ({"error"}, status)
    assert error["errors"][0].keys() == {"message", "domain", "reason"}
    assert error["errors"][0]["message"] == error["message"]
    return str(error["message"])


def test_texts_come_as_json_form_or_query(client: TestClient) -> None:
    for answer in (
        ask(client),
        ask(client, q="Hi."),
        client.post(PATH, data=FIELDS),
        client.post(PATH, params={**FIELDS, "key": "k"}),
        client.get(PATH, params={**FIELDS, "key": "k", "prettyPrint": "false"}),
    ):
        assert answer.json() == ANSWER
        assert "X-Ignored-Fields" not in answer.headers
    many = client.get(PATH, params={**FIELDS, "q": ["Hi.", "Bye."]}).json()["data"]
    assert [one["translatedText"] for one in many["translations"]] == ["HI.", "BYE."]


def test_a_source_that_is_not_given_is_detected(client: TestClient) -> None:
    for source in (None, ""):
        answer = ask(client, q=["Where is the library?"], source=source).json()
        (one,) = answer["data"]["translations"]
        assert one == {"translatedText": "WHERE IS THE LIBRARY?", "detectedSourceLanguage": "en"}


def test_what_has_no_effect_is_named_and_what_googles_client_sends_is_accepted(
    client: TestClient,
) -> None:
    for changed in ({"model": "nmt"}, {"cid": ["c"]}, {"cid": "c"}):
        answer = ask(client, **changed)
        assert answer.json() == ANSWER
        assert answer.headers["X-Ignored-Fields"] == next(iter(changed))
    answer = ask(client, model=None, cid=[], format="text")
    assert answer.json() == ANSWER
    assert "X-Ignored-Fields" not in answer.headers


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"q": None}, 400, "missing q"),
        ({"q": ["a"] * 6}, 413, "6 texts"),
        ({"q": "x" * 1001}, 413, "1001 characters"),
        ({"target": None}, 400, "missing target"),
        ({"target": "xx"}, 400, "supported: zh, en, zh-Hant, de"),
        ({"source": "x" * 65}, 400, "at most 64"),
        ({"format": "pdf"}, 400, "format must be"),
        ({"cid": 5}, 400, "cid must be"),
    ],
)
def test_what_is_refused(
    client: TestClient, changed: dict[str, Any], status: int, message: str
) -> None:
    assert message in refused(ask(client, **changed), status)


def test_languages_are_detected(client: TestClient) -> None:
    texts = ["Where is the library?", "图书馆在哪里？"]
    for sent in ({"json": {"q": texts}}, {"data": {"q": texts}}, {"params": {"q": texts}}):
        answer: Any = client.post(PATH + "/detect", **sent).json()  # type: ignore[arg-type]
        found = [one[0] for one in answer["data"]["detections"]]
        assert [one["language"] for one in found] == ["en", "zh"]
        assert all(0 < one["confidence"] <= 1 and not one["isReliable"] for one in found)
    refused(client.post(PATH + "/detect", json={"q": ["a"] * 6}), 413)
    refused(client.post(PATH + "/detect", json={"q": "x" * 1001}), 413)
    refused(client.post(PATH + "/detect", json={}), 400)


def test_languages_have_names_in_the_language_asked_for(client: TestClient) -> None:
    path = PATH + "/languages"
    codes = [{"language": code} for code in ("zh", "en", "zh-Hant", "de")]
    assert client.get(path).json() == {"data": {"languages": codes}}
    german = client.get(path, params={"target": "de"}).json()["data"]["languages"]
    assert [one["name"] for one in german] == [
        "Chinesisch",
        "Englisch",
        "Chinesisch (Traditionell)",
        "Deutsch",
    ]
    chinese = client.get(path, params={"target": "zh-CN"}).json()["data"]["languages"]
    assert chinese[3] == {"language": "de", "name": "德语"}
    names = ["Chinese", "English", "Chinese (Traditional)", "German"]
    for unknown in ("fr", "xx", "../../etc"):
        english = client.get(path, params={"target": unknown}).json()["data"]["languages"]
        assert [one["name"] for one in english] == names
    refused(client.get(path, params={"target": "x" * 65}), 400)


def test_immersive_translate_gets_its_paragraphs(client: TestClient) -> None:
    sent = {"source_lang": "auto", "target_lang": "zh", "text_list": ["Where is it?", "Hello."]}
    answer = client.post("/immersive", json=sent).json()
    assert answer == {
        "translations": [
            {"detected_source_lang": "en", "text": "WHERE IS IT?"},
            {"detected_source_lang": "en", "text": "HELLO."},
        ]
    }
    known = client.post("/immersive", json={**sent, "source_lang": "en"}).json()
    assert known == answer
    for changed in ({"text_list": 5}, {"text_list": None}, {"target_lang": "xx"}):
        answer = client.post("/immersive", json={**sent, **changed})
        assert answer.status_code in (400, 422)
        assert {"error", "code"} <= answer.json().keys()
    assert client.post("/immersive", data=sent).status_code == 415


@pytest.mark.parametrize(
    ("text_format", "comparison"),
    [("html", "ONE &lt; TWO"), ("text", "ONE < TWO"), (None, "ONE < TWO")],
)
def test_markup_is_kept_also_if_no_format_is_given(
    client: TestClient, text_format: str | None, comparison: str
) -> None:
    given = {"q": ["Hi <b>you</b>.", "one < two"], "format": text_format}
    (one, other) = ask(client, **given).json()["data"]["translations"]
    assert one["translatedText"] == "HI <b>YOU</b>."
    assert other["translatedText"] == comparison
    sent = {"source_lang": "en", "target_lang": "de", "text_list": ["Hi <b>you</b>."]}
    (one,) = client.post("/immersive", json=sent).json()["translations"]
    assert one["text"] == "HI <b>YOU</b>."
