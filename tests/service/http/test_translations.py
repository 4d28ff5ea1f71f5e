"""POST /translate as an event stream; and clients that leave: their work ends, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import ClientGone
from service.http.head import CONNECTION_LOST
from service.http.translating import until_disconnected
from service.observability.logs import configure_logs
from service.settings import Settings
from service.translation.dispatcher import Dispatcher
from service.translation.translator import Pieces
from tests.service.fakes import FakeRunner, eventually, fake_model, until
from tests.service.http.clients import EVENTS, FIELDS, events_of
from tests.service.http.wire_client import head
from tests.service.served import served


def test_pieces_join_to_the_final_event_which_has_what_the_plain_answer_has(
    client: TestClient,
) -> None:
    q = ["ab", "", "cd. ef\n\n four! 😀"]
    fields = {**FIELDS, "q": q, "details": True, "beam_size": 1}
    response = client.post("/translate", json=fields, headers=EVENTS)
    plain = client.post("/translate", json=fields).json()
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert {name for name, _ in events[:-1]} == {"token"}
    assert len(events) > 5
    final = dict(events[-1][1])
    assert events[-1][0] == final.pop("type") == "final"
    for answer in (plain, final):
        for text in answer["details"]:
            for sentence in text["sentences"]:
                assert set(sentence.pop("times_ms")) == {"queue", "encode", "decode"}
    assert final == plain
    for index, text in enumerate(plain["translatedText"]):
        pieces = [d["text"] for _, d in events[:-1] if d["index"] == index]
        assert "".join(pieces) == text


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


@pytest.mark.parametrize("accept", [b"*/*", b"text/event-stream"])
@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_client_that_leaves_frees_its_slot_and_leaves_no_task_behind(
    accept: bytes, is_broken: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether that is noticed by a message or by an error."""
    configure_logs("info", "json", sys.stderr)
    runner = FakeRunner()
    runner.gate.clear()
    app = create_app(Settings(), [fake_model(runner)])
    body = json.dumps({**FIELDS, "q": "x" * 30}).encode()
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    headers = [(b"content-type", b"application/json"), (b"accept", accept)]
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
        async with asyncio.timeout(60):
            await app({**scope, "headers": headers}, receive, send)
        assert asyncio.all_tasks() == before
        runner.gate.set()
        await eventually(lambda: runner.num_free_slots == runner.max_slots)
        assert runner.num_steps <= 2
    exported = app.state.server.metrics.render().decode()
    assert 'endpoint="/translate",outcome="cancelled"} 1.0' in exported
    assert 'finish_reason="cancelled",model="fake"} 1.0' in exported
    assert '"status":499' in capsys.readouterr().err


@pytest.mark.parametrize("leaves_at", [0, 1, 3])
async def test_a_connection_that_is_lost_ends_its_work_without_a_task(leaves_at: int) -> None:
    """As our own server tells it; the work ends in the next turn of the event loop."""
    lost = asyncio.get_running_loop().create_future()
    scope = {"type": "http", "extensions": {CONNECTION_LOST: lost}}
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(until_disconnected(Request(scope), asyncio.Event().wait()))
    for _ in range(leaves_at):
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {*before, task}
    lost.set_result(None)
    with pytest.raises(ClientGone):
        await task


async def test_a_connection_that_is_lost_after_the_work_disturbs_nothing() -> None:
    """What the request still has to do is done: it counts, and gives its place back."""
    lost = asyncio.get_running_loop().create_future()
    scope = {"type": "http", "extensions": {CONNECTION_LOST: lost}}
    assert await until_disconnected(Request(scope), asyncio.sleep(0, "done")) == "done"
    lost.set_result(None)
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_client_that_closes_its_connection_frees_its_slot_by_the_next_step() -> None:
    """At a server with sockets, where no task receives."""
    runner = FakeRunner()
    runner.gate.clear()
    app = create_app(Settings(), [fake_model(runner)])
    body = json.dumps({**FIELDS, "q": "x" * 30}).encode()
    kind, size = "Content-Type: application/json", f"Content-Length: {len(body)}"
    with served(app) as server:
        with server.connect() as client:
            client.sendall(head("/translate", kind, size) + body)
            until(runner.is_stepping.is_set)
        cancelled = 'endpoint="/translate",outcome="cancelled"} 1.0'
        until(lambda: cancelled in server.metrics())
        runner.gate.set()
        until(lambda: runner.num_free_slots == runner.max_slots)
        assert runner.num_steps <= 2


@pytest.mark.parametrize("num_turns", [0, 1, 2, 3])
async def test_only_work_that_waits_has_a_task_that_watches_for_its_client(num_turns: int) -> None:
    """What the cache answers at once pays for none."""
    made = list[str]()

    def make_task(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> asyncio.Task[Any]:
        made.append(work.__qualname__)
        return asyncio.Task(work, loop=loop, **given)

    async def receive() -> dict[str, Any]:
        return await asyncio.Event().wait() and {}

    async def work() -> int:
        for _ in range(num_turns):
            await asyncio.sleep(0)
        return num_turns

    before = asyncio.all_tasks()
    asyncio.get_running_loop().set_task_factory(make_task)
    assert await until_disconnected(Request({"type": "http"}, receive), work()) == num_turns
    assert len(made) == min(num_turns, 1)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("is_client_gone_too", [False, True])
async def test_a_cancellation_from_outside_stays_one(is_client_gone_too: bool) -> None:
    leaving = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await leaving.wait()
        return {"type": "http.disconnect"}

    before = asyncio.all_tasks()
    request = Request({"type": "http"}, receive)
    task = asyncio.ensure_future(until_disconnected(request, asyncio.Event().wait()))
    await asyncio.sleep(0)
    if is_client_gone_too:
        leaving.set()
        while not task.cancelling():
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
