"""POST /translate with Accept: text/event-stream."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
from fastapi.testclient import TestClient

from service.translation.dispatcher import Dispatcher
from service.translation.translator import Pieces
from tests.service.fakes import FakeRunner, until
from tests.service.http.clients import EVENTS, FIELDS, events_of


def test_pieces_join_to_the_final_text(client: TestClient) -> None:
    q = "one two. three\n\n four! 😀"
    response = client.post("/translate", json={**FIELDS, "q": q, "beam_size": 1}, headers=EVENTS)
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [name for name, _ in events[:-1]] == ["token"] * (len(events) - 1)
    name, final = events[-1]
    assert name == final["type"] == "final"
    assert final["translatedText"] == q.upper()
    assert "".join(data["text"] for _, data in events[:-1]) == q.upper()
    assert len(events) > 5


def test_the_final_event_has_what_the_plain_answer_has(client: TestClient) -> None:
    fields = {**FIELDS, "q": ["ab", "", "cd. ef"], "details": True}
    plain = client.post("/translate", json=fields).json()
    events = events_of(client.post("/translate", json=fields, headers=EVENTS).text)
    final = {k: v for k, v in events[-1][1].items() if k != "type"}
    for answer in (plain, final):
        for text in answer["details"]:
            for sentence in text["sentences"]:
                assert set(sentence.pop("times_ms")) == {"queue", "encode", "decode"}
    assert final == plain
    for index, text in enumerate(plain["translatedText"]):
        pieces = [d["text"] for _, d in events[:-1] if d["index"] == index]
        assert "".join(pieces) == text


def test_what_is_wrong_at_once_is_an_ordinary_error(client: TestClient) -> None:
    response = client.post("/translate", json={**FIELDS, "target": "xx"}, headers=EVENTS)
    assert (response.status_code, response.json()["code"]) == (400, "unsupported_language")


def test_a_sentence_that_fails_ends_the_stream_with_an_error_event(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.poison = ord("b")
    fields = {**FIELDS, "q": "good. bad day."}
    response = client.post("/translate", json=fields, headers=EVENTS)
    name, data = events_of(response.text)[-1]
    assert (name, data["code"]) == ("error", "translation_failed")
    until(lambda: runner.num_free_slots == runner.max_slots)


def test_pieces_that_break_end_the_stream_with_an_error_event(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Dispatcher.stream

    async def broken(pieces: Pieces) -> AsyncIterator[object]:
        yield await anext(pieces)
        raise RuntimeError("unforeseen")

    @contextlib.asynccontextmanager
    async def stream(*given: object) -> AsyncGenerator[AsyncIterator[object]]:
        async with real(*given) as pieces:  # type: ignore[arg-type]
            yield broken(pieces)

    monkeypatch.setattr(Dispatcher, "stream", stream)
    response = client.post("/translate", json={**FIELDS, "beam_size": 1}, headers=EVENTS)
    assert [name for name, _ in events_of(response.text)] == ["token", "error"]
    assert "unforeseen" in caplog.text
