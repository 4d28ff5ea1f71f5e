"""POST /translate: every form of a request, and each field of its answer; POST /translate/next."""

from __future__ import annotations

import dataclasses
import math
import time
from codecs import BOM_UTF8
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.engine.admission import AdmissionControl
from service.settings import Settings
from tests.service.fakes import TAG, FakeRunner, FakeTokenizer, fake_model, until
from tests.service.http.clients import FIELDS, JSON, by_json


def refuse(client: TestClient, status: int, code: str, **fields: Any) -> str:
    response = client.post("/translate", json={**FIELDS, "q": "a", **fields})
    return expect_error(client, response, status, code)


def expect_error(client: TestClient, response: Any, status: int, code: str) -> str:
    """Check the answer's shape, and that the server goes on answering."""
    body = response.json()
    assert (response.status_code, body["code"]) == (status, code)
    assert body.keys() - {"detail", "detectedLanguage"} == {"error", "code", "request_id"}
    assert body["request_id"] == response.headers["X-Request-ID"]
    assert by_json(client, q="still here")["translatedText"].endswith("STILL HERE")
    return str(body.get("detail", body["error"]))


def test_a_string_gives_a_string_and_a_list_a_list(client: TestClient) -> None:
    assert by_json(client, q="Hi. Bye.") == {"translatedText": "HI. BYE."}
    assert by_json(client, q=["Hi.", "Bye."]) == {"translatedText": ["HI.", "BYE."]}
    assert by_json(client, q=[]) == {"translatedText": []}


def test_a_language_may_be_written_as_elsewhere(client: TestClient) -> None:
    chinese = ("zh", "ZH", "zh-Hans", "zh-hans", "zh-CN", "zh_CN", "zho_Hans", "zho", "cmn")
    for code in (*chinese, "zh_Hans", "zh-Hans-CN"):
        assert by_json(client, q="ab", source=code, target="en-GB") == {"translatedText": "AB"}
        assert by_json(client, q="ab", source="eng_Latn", target=code) == {"translatedText": "AB"}


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "😀", "12 34", "…"])
def test_what_holds_nothing_to_translate_comes_back(client: TestClient, text: str) -> None:
    assert by_json(client, q=text) == {"translatedText": text}


def test_the_same_language_comes_back_unchanged(client: TestClient) -> None:
    assert by_json(client, q="Hi.", source="de", target="de") == {"translatedText": "Hi."}


def test_alternatives_join_each_sentences_next_best(client: TestClient) -> None:
    answer = by_json(client, q="Hi. Bye.", alternatives=2)
    assert answer == {
        "translatedText": "HI. BYE.",
        "alternatives": ["HI.* BYE.*", "HI.** BYE.**"],
    }
    answer = by_json(client, q=["Hi.", ""], alternatives="1")  # a string, as some clients write it
    assert answer["alternatives"] == [["HI.*"], []]


def test_details_tell_which_words_translate_each_other_and_how_sure_the_model_is(
    client: TestClient,
) -> None:
    """The fake calibration is the mean log-probability, -0.5, once for words, twice for the whole;
    punctuation is not rated, and a pair that was not measured has no confidence."""
    texts = by_json(client, q=["Hi, Tom.", ""], details=True)["details"]
    (sentence,), none = (text["sentences"] for text in texts)
    assert (none, len(sentence["log_probs"])) == ([], len(sentence["tokens"]) + 1)
    links = [[0, 2, 0, 2], [2, 3, 2, 3], [4, 7, 4, 7], [7, 8, 7, 8]]
    assert [link[:4] for link in sentence["alignment"]] == links
    assert all(0 < link[4] <= 1 for link in sentence["alignment"])
    assert sentence["confidence"] == pytest.approx(1 / (1 + math.exp(1)), abs=5e-4)
    word = pytest.approx(1 / (1 + math.exp(0.5)), abs=5e-4)
    assert sentence["words"] == [[0, 2, word], [4, 7, word]]
    details = by_json(client, q="Hi, Tom.", details=True, target="zh")["details"]
    assert {"confidence", "words"}.isdisjoint(details[0]["sentences"][0])


def test_details_tell_where_the_time_went(client: TestClient, runner: FakeRunner) -> None:
    """A sentence that waits while the runner is held spends that time in the queue."""
    runner.max_slots = 1
    started = time.monotonic()
    sentences = by_json(client, q=["abcdef", "ghijkl"], details=True)["details"]
    took_ms = (time.monotonic() - started) * 1000
    first, second = (text["sentences"][0]["times_ms"] for text in sentences)
    assert second["queue"] >= first["queue"] + first["encode"] + first["decode"] - 0.01
    for times in (first, second):
        assert min(times.values()) >= 0
        assert sum(times.values()) <= took_ms


def test_auto_tells_the_language_that_it_found(client: TestClient) -> None:
    answer = by_json(client, q="今天天气很好。", source="auto", target="en")
    assert answer["detectedLanguage"]["language"] == "zh"
    answers = by_json(client, q=["The weather is fine.", "😀"], source="auto", target="en")
    assert answers["translatedText"] == ["The weather is fine.", "😀"]
    assert answers["detectedLanguage"][0]["language"] == "en"
    assert answers["detectedLanguage"][1]["confidence"] == 0


def test_plain_text_is_answered_with_plain_text_and_a_byte_order_mark_is_dropped(
    client: TestClient,
) -> None:
    plain, form = "text/plain", "application/x-www-form-urlencoded"
    for kind, body in ((plain, b"Hi.\n"), (plain, BOM_UTF8 + b"Hi.\n")):
        headers = {"Content-Type": kind}
        answer = client.post("/translate?source=en&target=de", content=body, headers=headers)
        assert answer.text == "HI.\n"
        assert answer.headers["Content-Type"].startswith(plain)
    body = BOM_UTF8 + b"q=Hi.&source=en&target=de"
    answer = client.post("/translate", content=body, headers={"Content-Type": form})
    assert answer.json() == {"translatedText": "HI."}


@pytest.mark.parametrize(
    ("status", "code", "fields", "word"),
    [
        (400, "unsupported_language", {"source": "xx"}, "supported: auto, zh, en, zh-Hant, de"),
        (400, "unsupported_language", {"target": "auto"}, "supported: zh, en, zh-Hant, de"),
        (400, "unsupported_language", {"source": "auto", "q": "¿Dónde está el libro?"}, "in es"),
        (400, "unsupported_language", {"source": "de", "target": "en"}, "en to de"),
        (413, "text_too_long", {"q": "a" * 1001}, "1001 characters, at most 1000"),
        (413, "too_many_texts", {"q": ["a"] * 6}, "6 texts, at most 5"),
    ],
)
def test_what_cannot_be_translated_is_refused(
    client: TestClient, status: int, code: str, fields: dict[str, Any], word: str
) -> None:
    assert word in refuse(client, status, code, **fields)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"keep": 5}, "keep must be a string or a list of at most 100"),
        ({"keep": [" "]}, "at most 200 characters and not only spaces"),
        ({"q": 5}, "q must be a string or a list of strings, got 5"),
        ({"beam_size": True}, "a whole number from 1 to 16, got true"),
        ({"beam_size": 17}, "at most 16"),
        ({"alternatives": 4, "beam_size": 4}, "less than beam_size"),
        ({"top_p": 1.5}, "top_p must be a number from 0 to 1, got 1.5"),
        ({"top_p": 0.5, "beam_size": 2}, "top_p"),
        ({"seed": 1, "alternatives": 1}, "seed"),
        ({"target_prefix": "x" * 22}, "less than 22 tokens for so short a sentence"),
        ({"target_prefix": "x" * 256, "max_length": 1000}, "less than 256 tokens, got 256"),
        ({"target_prefix": "xxxx", "max_length": 4, "seed": 1}, "less than max_length (4) tokens"),
        (
            {"q": "One. Two. Three.", "target_prefix": ["x", "", "xxxx"], "max_length": 4},
            "target_prefix must have less than max_length (4) tokens, got 4 for sentence 3",
        ),
        ({"target_prefix": ["x", "y"]}, "target_prefix"),
        ({"q": "", "target_prefix": "x"}, "target_prefix"),
        ({"target_prefix": "x\ufffc"}, "target_prefix must not have U+FFFC"),
    ],
)
def test_bad_fields_are_named(client: TestClient, fields: dict[str, Any], word: str) -> None:
    assert word in refuse(client, 422, "invalid_field", **fields)


@pytest.mark.parametrize(
    ("status", "code", "body"),
    [
        (400, "invalid_json", b"\xff"),
        (400, "invalid_json", b"[" * 100_000),
        (400, "invalid_json", b'{"q": NaN}'),
        (422, "invalid_field", b"[]"),
        (400, "missing_field", b'{"q": "a", "source": "en"}'),
    ],
)
def test_bad_json_is_refused(client: TestClient, status: int, code: str, body: bytes) -> None:
    response = client.post("/translate", content=body, headers=JSON)
    expect_error(client, response, status, code)


@pytest.mark.parametrize("content_type", ["", "multipart/mixed"])
def test_other_content_types_are_refused(client: TestClient, content_type: str) -> None:
    response = client.post("/translate", content=b"a", headers={"Content-Type": content_type})
    assert "application/json" in expect_error(client, response, 415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize(
    ("charset", "text", "status"),
    [('"UTF-8"', b"Hi.", 200), ("", b"caf\xe9", 400), ("big5", b"Hi.", 415)],
)
def test_text_that_is_not_utf_8_is_refused_even_if_only_its_charset_says_so(
    client: TestClient, kind: str, charset: str, text: bytes, status: int
) -> None:
    headers = {"Content-Type": f"{kind}; Charset={charset}"}
    content = b"source=en&target=de&q=" + text
    answer = client.post("/translate?source=en&target=de", content=content, headers=headers)
    assert answer.status_code == status
    if status == 400:
        expect_error(client, answer, 400, "invalid_text")
    if status == 415:
        said = expect_error(client, answer, 415, "unsupported_media_type")
        assert "charset must be utf-8, got" in said


def test_a_long_sentence_is_cut_and_nothing_is_lost(client: TestClient) -> None:
    text = "word, " * 60 + "end"
    assert by_json(client, q=text) == {"translatedText": text.upper()}


def test_a_sentence_that_fails_is_a_clean_500(client: TestClient, runner: FakeRunner) -> None:
    runner.fail_next_step = True
    refuse(client, 500, "translation_failed")


def test_a_deadline_ends_a_request_and_frees_its_slots(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()  # no step ends before the deadline
    response = client.post("/translate", json={**FIELDS, "q": "x" * 40, "deadline_ms": 10})
    runner.gate.set()
    until(lambda: runner.num_free_slots == runner.max_slots)
    assert runner.num_steps <= 2
    said = expect_error(client, response, 504, "deadline")
    assert said == "not done within the deadline of 10 ms"


def test_room_is_asked_for_before_the_body_is_read_and_for_the_sentences(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def count(admission: AdmissionControl, num_sentences: int, *rest: Any, **more: Any) -> str:
        asked.append(num_sentences)
        return why_full(admission, num_sentences, *rest, **more)

    why_full = AdmissionControl.why_full
    monkeypatch.setattr(AdmissionControl, "why_full", count)
    assert by_json(client, q="It works. It ends.") == {"translatedText": "IT WORKS. IT ENDS."}
    assert asked == [1, 2]


def test_a_prefix_goes_to_the_first_sentence_and_a_list_to_each(client: TestClient) -> None:
    q = "It works. It ends."
    assert by_json(client, q=q, target_prefix="x ")["translatedText"] == "x IT WORKS. IT ENDS."
    answer = by_json(client, q=q, target_prefix=["x ", "y "])
    assert answer["translatedText"] == "x IT WORKS. y IT ENDS."


def test_a_length_bound_must_have_room_for_the_models_language_tag(runner: FakeRunner) -> None:
    class Tagging(FakeTokenizer):
        def target_start(self, target_language: str) -> list[int]:
            return [TAG, TAG]

    model = dataclasses.replace(fake_model(runner), tokenizer=Tagging())
    with TestClient(create_app(Settings(), [model])) as client:
        assert refuse(client, 422, "invalid_field", max_length=2) == (
            "max_length must be at least 3, with room for the language tag that a translation "
            "begins with, got 2"
        )
        assert refuse(client, 422, "invalid_field", max_length=4, target_prefix="xx") == (
            "target_prefix must have less than max_length (4) tokens (the language tag takes 2), "
            "got 2"
        )
        fitting = by_json(client, q="a", max_length=4, target_prefix="x")
        assert fitting["translatedText"] == chr(TAG) * 2 + "xA"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prefix": "HI ", "k": 10},
        {"prefix": "☃ never"},
        {"q": "", "prefix": "HI"},
        {"source": "auto", "q": "Where is the library?"},
        {"q": "One. Two. Three.", "prefix": "ONE. TW"},
        {"q": "Keep {name} here.", "prefix": "KEEP {name}"},
        {"q": "ALL IN CAPITALS HERE", "prefix": "ALL"},
    ],
)
def test_next_words_are_told_whatever_is_asked(client: TestClient, fields: dict[str, Any]) -> None:
    answer = client.post("/translate/next", json={**FIELDS, **fields})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert set(body) == {"words", "end", "sentence"}
    prefix = fields.get("prefix") or ""
    for word in body["words"]:
        assert set(word) == {"text", "probability", "translation"}
        assert 0 <= word["probability"] <= 1
        assert word["translation"].startswith(prefix + word["text"])


def test_the_sentence_that_the_prefix_of_next_words_reaches_is_named(client: TestClient) -> None:
    asked = {**FIELDS, "q": "One. Two. Three."}
    for prefix, number in (
        ("", 0),
        ("On", 0),
        ("One.", 1),
        ("One. T", 1),
        ("Eins. Zwei. Drei. Vier. Und", 2),
    ):
        answer = client.post("/translate/next", json={**asked, "prefix": prefix})
        assert answer.json()["sentence"] == number, prefix


@pytest.mark.parametrize(
    ("accept", "is_streamed"),
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream", True),
        ("text/event-stream, */*", True),
        ("text/event-stream;q=0", False),
        ("application/json, text/event-stream;q=0.1", False),
        ("*/*", False),
    ],
)
def test_an_answer_is_a_stream_if_the_client_likes_that_as_well(
    client: TestClient, accept: str, is_streamed: bool
) -> None:
    answer = client.post("/translate", json=FIELDS, headers={"Accept": accept})
    assert (answer.headers["Content-Type"].startswith("text/event-stream")) == is_streamed
