"""POST /translate with Accept: text/event-stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, eventually, fake_model, until
from tests.service.http.routes.injection import break_stream

HEADERS = {"Accept": "text/event-stream"}


def events_of(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Every event's name and data, read by the rules of the format."""
    events = []
    for block in body.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def test_pieces_join_to_the_final_text(client: TestClient) -> None:
    q = "one two. three\n\n four! 😀"
    response = client.post(
        "/translate",
        json={"q": q, "source": "en", "target": "de", "beam_size": 1},
        headers=HEADERS,
    )
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [name for name, _ in events[:-1]] == ["token"] * (len(events) - 1)
    name, final = events[-1]
    assert name == final["type"] == "final"
    assert final["translatedText"] == q.upper()
    assert "".join(data["text"] for _, data in events[:-1]) == q.upper()
    assert len(events) > 5


def test_the_final_event_has_what_the_plain_answer_has(client: TestClient) -> None:
    fields = {"q": ["ab", "", "cd. ef"], "source": "en", "target": "de", "details": True}
    plain = client.post("/translate", json=fields).json()
    events = events_of(client.post("/translate", json=fields, headers=HEADERS).text)
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
    response = client.post(
        "/translate", json={"q": "a", "source": "en", "target": "xx"}, headers=HEADERS
    )
    assert response.status_code == 400
    assert response.json()["code"] == "unsupported_language"


def test_a_sentence_that_fails_ends_the_stream_with_an_error_event(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.poison = ord("b")
    response = client.post(
        "/translate",
        json={"q": "good. bad day.", "source": "en", "target": "de"},
        headers=HEADERS,
    )
    name, data = events_of(response.text)[-1]
    assert (name, data["code"]) == ("error", "translation_failed")
    until(lambda: runner.num_free_slots == runner.max_slots)


class Injected(Exception):
    """What nobody foresaw."""


def test_pieces_that_break_end_the_stream_with_an_error_event(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    break_stream(monkeypatch, Injected(), at_end=False)
    given = {"q": "one", "source": "en", "target": "de", "beam_size": 1}
    response = client.post("/translate", json=given, headers=HEADERS)
    assert [name for name, _ in events_of(response.text)] == ["token", "error"]
    assert "Injected" in caplog.text


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_client_that_leaves_its_stream_leaves_no_task_behind(is_broken: bool) -> None:
    """Whether that is noticed by a message or by an error."""

    async def scenario() -> None:
        runner = FakeRunner()
        runner.gate.clear()
        app = create_app(Settings(), [fake_model(runner)])
        body = json.dumps({"q": "x" * 30, "source": "en", "target": "de"}).encode()
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
        headers = [(b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
        scope = {"type": "http", "method": "POST", "path": "/translate", "query_string": b""}

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await eventually(runner.is_stepping.is_set)
            if is_broken:
                raise RuntimeError("the connection is broken")
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            pass

        async with app.router.lifespan_context(app):
            before = asyncio.all_tasks()
            await asyncio.wait_for(app({**scope, "headers": headers}, receive, send), timeout=60)
            assert asyncio.all_tasks() == before
            runner.gate.set()
            await eventually(lambda: runner.num_free_slots == runner.max_slots)
        exported = app.state.server.metrics.render().decode()
        assert 'endpoint="/translate",outcome="cancelled"} 1.0' in exported

    asyncio.run(scenario())
