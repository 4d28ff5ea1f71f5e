"""Several models in one server: who translates what, and the way through English."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app, drain
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.clients import EVENTS, STREAM, events_of, last_message

ZH_EN, EN_DE = (("zh", "en"), ("en", "zh")), (("en", "de"), ("de", "en"))
Runners = dict[str, FakeRunner]


@pytest.fixture
def runners() -> Runners:
    return {"first": FakeRunner(), "second": FakeRunner(), "third": FakeRunner()}


@pytest.fixture
def client(runners: Runners) -> Iterator[TestClient]:
    """Chinese and English, English and German, and English and German once more."""
    pairs = {"first": ZH_EN, "second": EN_DE, "third": EN_DE}
    models = [fake_model(runners[name], name, pairs[name]) for name in runners]
    settings = Settings(max_waiting_sentences=3, max_characters=1000)
    with TestClient(create_app(settings, models)) as client:
        yield client


def ask(client: TestClient, **fields: Any) -> dict[str, Any]:
    body = {"q": "a b", "source": "zh", "target": "en", **fields}
    answer: dict[str, Any] = client.post("/translate", json=body).json()
    return answer


def users(runners: Runners) -> list[str]:
    """The models that were given something to translate."""
    return [name for name, runner in runners.items() if runner.admitted]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["first"]),
        ({"source": "de"}, ["second"]),
        ({"source": "de-AT", "model": "third"}, ["third"]),
        ({"source": "zh", "target": "de"}, ["first", "second"]),
        ({"source": "zho_Hans", "target": "de-CH"}, ["first", "second"]),
        ({"source": "de", "target": "zh"}, ["first", "second"]),
        ({"source": "de", "target": "de"}, []),
    ],
)
def test_a_pair_goes_to_the_first_model_that_has_it_or_to_two(
    client: TestClient, runners: Runners, fields: dict[str, str], expected: list[str]
) -> None:
    assert ask(client, **fields)["translatedText"].upper() == "A B"
    assert users(runners) == expected


def test_details_tell_the_models_and_what_the_text_was_on_its_way(client: TestClient) -> None:
    (detail,) = ask(client, target="de", details=True)["details"]
    assert detail["model"] == "second"
    assert detail["pivot"] == {"language": "en", "text": "A B", "model": "first", "checks": []}
    assert [sentence["source"] for sentence in detail["sentences"]] == ["A B"]
    (detail,) = ask(client, details=True)["details"]
    assert detail["model"] == "first"
    assert "pivot" not in detail


def test_wishes_hold_for_the_translation_and_the_beam_for_the_whole_way(
    client: TestClient, runners: Runners
) -> None:
    answer = ask(client, target="de", beam_size=3, alternatives=2, target_prefix="ja ")
    assert answer["translatedText"] == "ja A B"
    assert len(answer["alternatives"]) == 2
    ask(client, target="de", temperature=0.5)
    way, last = (
        [(s.options.beam_size, s.options.n_best, len(s.prefix), s.options.sampling) for s in seen]
        for seen in (runners["first"].sentences, runners["second"].sentences)
    )
    assert way == [(3, 1, 0, False), (4, 1, 0, False)]
    assert last == [(3, 3, 3, False), (1, 1, 0, True)]


@pytest.mark.parametrize("headers", [{}, EVENTS])
def test_a_prefix_that_never_fits_is_refused_before_the_way_begins(
    client: TestClient, runners: Runners, headers: dict[str, str]
) -> None:
    body = {"q": "a b", "source": "zh", "target": "de", "target_prefix": ["x", "x" * 256]}
    response = client.post("/translate", json=body, headers=headers)
    answer = response.json()
    assert (response.status_code, answer["code"]) == (422, "invalid_field")
    assert answer["error"] == "target_prefix must have less than 256 tokens, got 256 for sentence 2"
    assert users(runners) == []


def test_a_prefix_too_long_for_what_the_text_becomes_on_its_way_is_refused(
    client: TestClient, runners: Runners
) -> None:
    """How many tokens that has is known halfway, when an event stream has begun."""
    body = {"q": "a b", "source": "zh", "target": "de", "target_prefix": "x" * 26}
    response = client.post("/translate", json=body)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_field")
    ((_, event),) = events_of(client.post("/translate", json=body, headers=EVENTS).text)
    assert (event["type"], event["code"]) == ("error", "invalid_field")
    assert event["error"] == response.json()["error"]
    assert "less than 26 tokens for so short a sentence" in event["error"]
    assert users(runners) == ["first"]
    assert ask(client, q="a b c", target="de", target_prefix="x" * 26)["translatedText"] == (
        "x" * 26 + "A B C"
    )


def test_texts_of_one_request_go_their_own_ways(client: TestClient, runners: Runners) -> None:
    texts = ["图书馆在哪里，我想借一本书", "Wo ist die Bibliothek und wann öffnet sie?", ""]
    answer = ask(client, q=texts, source="auto", details=True)
    assert answer["translatedText"] == [text.upper() for text in texts]
    assert [d["language"] for d in answer["detectedLanguage"]][:2] == ["zh", "de"]
    assert [detail["model"] for detail in answer["details"]][:2] == ["first", "second"]
    assert users(runners) == ["first", "second"]


@pytest.mark.parametrize("source", ["zh", "auto"])
def test_streamed_pieces_join_to_the_translation_however_many_models_it_takes(
    client: TestClient, source: str
) -> None:
    texts = ["图书馆在哪里？我想借一本书。", "我们明天一起去吧。"]
    body = {"q": texts, "source": source, "target": "de", "beam_size": 1}
    *tokens, (_, final) = events_of(client.post("/translate", json=body, headers=EVENTS).text)
    expected = [text.replace("？", "？ ") for text in texts]  # as English and German join
    assert final["translatedText"] == expected
    for index, text in enumerate(expected):
        pieces = [token["text"] for _, token in tokens if token["index"] == index]
        assert "".join(pieces) == text
        assert len(pieces) > 3


def test_a_model_is_named_and_its_languages_are_told(client: TestClient) -> None:
    unknown, other = ask(client, model="fourth"), ask(client, model="second")
    assert unknown["error"] == "model must be one of first, second, third, got 'fourth'"
    told = "source language 'zh' is not supported; supported: auto, en, de"
    assert other["detail"] == told


def test_the_second_half_is_never_refused_for_want_of_room(
    client: TestClient, runners: Runners
) -> None:
    """The second model's line fills up while the first half is on its way."""
    engines = client.app.state.server.models.pool.engines  # type: ignore[attr-defined]
    runners["first"].gate.clear()
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, "q": "a b", "source": "zh", "target": "de"})
        until(lambda: bool(runners["first"].running))
        full = engines["second"].admission
        full.num_sentences, full.max_sentences = 3, 0
        refused = ask(client, source="en", target="de", model="second")
        runners["first"].gate.set()
        message = last_message(socket)
    full.num_sentences = 0
    assert refused["code"] == "overloaded"
    assert message["translatedText"] == "A B"


def test_a_deadline_counts_from_the_start_of_the_whole_way(
    client: TestClient, runners: Runners
) -> None:
    """The first half takes the time; the second one, which never ends, does not get it again."""
    for name in ("first", "second"):
        runners[name].gate.clear()
    with client.websocket_connect(STREAM) as socket:
        started = time.monotonic()
        fields = {"q": "a b", "source": "zh", "target": "de", "deadline_ms": 600}
        socket.send_json({"id": 1, **fields})
        time.sleep(0.4)
        runners["first"].gate.set()
        until(lambda: bool(runners["second"].running))
        runners["second"].is_stepping.wait()
        time.sleep(max(0.0, started + 0.7 - time.monotonic()))
        runners["second"].gate.set()  # the engine looks at its messages after the step
        message = last_message(socket)
    assert message.get("code") == "deadline"
    assert "600 ms" in message["error"]


def test_cancelling_on_the_way_frees_the_first_model_and_spares_the_second(
    client: TestClient, runners: Runners
) -> None:
    runners["first"].gate.clear()
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, "q": "a b", "source": "zh", "target": "de"})
        until(lambda: bool(runners["first"].running))
        socket.send_json({"id": 1, "cancel": True})
        assert socket.receive_json()["code"] == "cancelled"
        runners["first"].gate.set()
        until(lambda: not runners["first"].running)
    assert users(runners) == ["first"]


def test_a_dead_engine_takes_only_its_own_pairs_with_it(client: TestClient) -> None:
    client.app.state.server.models.pool.engines["first"].stop()  # type: ignore[attr-defined]
    ready = client.get("/health/ready")
    assert ready.status_code == 503
    assert "the engine of first is not running" in ready.json()["error"]
    assert ask(client)["code"] == "not_ready"
    assert ask(client, target="de")["code"] == "not_ready"
    assert ask(client, source="de")["translatedText"] == "A B"


@pytest.mark.parametrize("limit_seconds", [60, 0.05])
def test_draining_lets_both_halves_come_to_their_end_within_its_limit(
    client: TestClient, runners: Runners, limit_seconds: float
) -> None:
    runners["first"].gate.clear()
    app, portal = client.app, client.portal
    assert isinstance(app, FastAPI)
    assert portal is not None
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, "q": "a b", "source": "zh", "target": "de"})
        until(lambda: bool(runners["first"].running))
        draining = portal.start_task_soon(drain, app, limit_seconds)
        until(lambda: not app.state.server.models.pool.engines["second"].is_ready)
        assert ask(client, source="en", target="de")["code"] == "draining"
        if limit_seconds < 1:
            time.sleep(0.2)
        runners["first"].gate.set()
        message = last_message(socket)
    draining.result(timeout=60)
    expected = "draining" if limit_seconds < 1 else "A B"
    assert message.get("code", message.get("translatedText")) == expected
