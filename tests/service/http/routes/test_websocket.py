"""The websocket: many requests on one connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketTestSession
from starlette.types import Message
from starlette.websockets import WebSocket

from service.app import create_app
from service.http.routes.websocket import LEAVING
from service.settings import Settings
from tests.service.fakes import FakeRunner, eventually, fake_model, until
from tests.service.http.clients import FIELDS, STREAM, client_of, last_message


def ask(socket: WebSocketTestSession, request_id: str | int, q: str, **fields: Any) -> None:
    socket.send_json({**FIELDS, "id": request_id, "q": q, **fields})


def answer(socket: WebSocketTestSession, request_id: str | int) -> dict[str, Any]:
    """The end of this request; it must be the only one in progress."""
    message = last_message(socket)
    assert message["id"] == request_id
    return message


def test_requests_on_one_connection_are_told_apart_and_a_short_one_overtakes(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        ask(socket, "long", "x" * 30, beam_size=1)
        until(runner.is_stepping.is_set)
        ask(socket, 7, "y", beam_size=1)
        until(lambda: 'dragoman_waiting{model="fake"} 1.0' in client.get("/metrics").text)
        runner.gate.set()
        texts: dict[str | int, str] = {"long": "", 7: ""}
        finals = []
        while len(finals) < 2:
            message = socket.receive_json()
            if message["type"] == "token":
                texts[message["id"]] += message["text"]
            else:
                finals.append(message["id"])
    assert texts == {"long": "X" * 30, 7: "Y"}
    assert finals == [7, "long"]


def test_a_cancelled_request_says_so_and_frees_its_slot(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        ask(socket, "a", "x" * 30, beam_size=1)
        until(runner.is_stepping.is_set)
        socket.send_json({"id": "a", "cancel": True})
        assert answer(socket, "a")["code"] == "cancelled"
        runner.gate.set()
        until(lambda: runner.num_free_slots == runner.max_slots)
        ask(socket, "a", "again", beam_size=1)
        assert answer(socket, "a")["translatedText"] == "AGAIN"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "invalid_json"),
        ('"text"', "invalid_message"),
        ('{"id": 88888888888888888888}', "invalid_message"),
        ('{"id": "a"}', "missing_field"),
        ('{"id": "a", "q": 5, "source": "en", "target": "de"}', "invalid_field"),
        ('{"id": "a", "q": "b", "source": "en", "target": "xx"}', "unsupported_language"),
        ('{"id": "a", "cancel": true}', "unknown_id"),
        (b'{"id": "a"}', "invalid_message"),
        (f'{{"id": "a", "q": "{"x" * 1001}", "source": "en", "target": "de"}}', "text_too_long"),
        (f'{{"id": {"8" * 4000}}}', "invalid_message"),
    ],
)
def test_a_bad_message_is_answered_and_the_connection_goes_on(
    client: TestClient, message: str | bytes, code: str
) -> None:
    with client.websocket_connect(STREAM) as socket:
        if isinstance(message, bytes):
            socket.send_bytes(message)
        else:
            socket.send_text(message)
        error = socket.receive_json()
        assert (error["type"], error["code"]) == ("error", code)
        assert 0 < len(error["error"]) < 200
        ask(socket, "next", "fine")
        assert answer(socket, "next")["translatedText"] == "FINE"


def test_an_id_in_progress_cannot_be_used_again(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        ask(socket, "a", "xx", beam_size=1)
        ask(socket, "a", "yy", beam_size=1)
        assert socket.receive_json()["code"] == "duplicate_id"
        runner.gate.set()
        assert answer(socket, "a")["translatedText"] == "XX"


def test_too_many_requests_an_oversize_message_and_silence_end_as_documented() -> None:
    runner = FakeRunner()
    with client_of(runner, max_streams=2, max_body_bytes=1024, stream_idle_seconds=1.0) as client:
        with client.websocket_connect(STREAM) as socket:
            runner.gate.clear()
            for number in range(3):
                ask(socket, number, "x")
            assert socket.receive_json()["code"] == "too_many_streams"
            runner.gate.set()
        with client.websocket_connect(STREAM) as socket:
            socket.send_text("x" * 2000)
            assert socket.receive()["code"] == 1009
        with client.websocket_connect(STREAM) as socket:
            assert socket.receive()["code"] == 1001


@pytest.mark.parametrize("q", ["fine", "x" * 1001])
def test_a_client_that_cannot_be_told_is_disconnected(
    q: str, client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("unforeseen")

    monkeypatch.setattr(WebSocket, "send_text", fail)
    with client.websocket_connect(STREAM) as socket:
        ask(socket, "a", q, beam_size=1)
        assert socket.receive()["code"] == 1011
    assert "unforeseen" in caplog.text
    until(lambda: "dragoman_open_streams 0.0" in client.get("/metrics").text)


class SlowReader:
    """A client on the ASGI level whose reading can be stopped."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.can_read, self.is_blocked = asyncio.Event(), asyncio.Event()
        self.can_read.set()
        self.messages.put_nowait({"type": "websocket.connect"})

    def ask(self, **fields: Any) -> None:
        message = {**FIELDS, "q": "one two", "beam_size": 1, **fields}
        self.messages.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    async def send(self, message: Message) -> None:
        if message["type"] == "websocket.send" and not self.can_read.is_set():
            self.is_blocked.set()
            await self.can_read.wait()
        if message["type"] == "websocket.send":
            self.sent.append(json.loads(message["text"]))

    def num_ended(self, request_id: str) -> int:
        return sum(m["id"] == request_id and m["type"] != "token" for m in self.sent)


@contextlib.asynccontextmanager
async def slow_reader(runner: FakeRunner) -> AsyncGenerator[SlowReader]:
    """At the end it reads and leaves; the connection must end without an error."""
    app = create_app(Settings(), [fake_model(runner)])
    async with app.router.lifespan_context(app):
        reader = SlowReader()
        scope = {"type": "websocket", "path": STREAM, "headers": [], "query_string": b""}
        serving = asyncio.create_task(app({**scope, "app": app}, reader.messages.get, reader.send))
        yield reader
        reader.can_read.set()
        if not serving.done():
            reader.messages.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(60):
            await serving


@pytest.mark.parametrize("num_cancels", [1, 3])
@pytest.mark.parametrize(("q", "code"), [("one two", "cancelled"), ("bad", "translation_failed")])
async def test_cancelled_while_its_reader_is_slow_a_request_still_ends_once(
    runner: FakeRunner, num_cancels: int, q: str, code: str
) -> None:
    """Also if its error waits for its reader already."""
    runner.poison = ord("b")
    async with slow_reader(runner) as reader:
        reader.can_read.clear()
        reader.ask(id="a", q=q)
        await reader.is_blocked.wait()
        for _ in range(num_cancels):
            reader.ask(id="a", cancel=True)
        await eventually(reader.messages.empty)
        await asyncio.sleep(0.01)
        reader.can_read.set()
        await eventually(lambda: reader.num_ended("a") > 0)
        reader.ask(id="a")
        await eventually(lambda: reader.num_ended("a") > 1)
        ended = [m.get("code", m["type"]) for m in reader.sent if m["type"] != "token"]
        assert ended == [code, "final"]


async def test_a_client_that_leaves_while_it_does_not_read_leaves_nothing_behind(
    runner: FakeRunner,
) -> None:
    async with slow_reader(runner) as reader:
        reader.can_read.clear()
        reader.ask(id="a")
        await reader.is_blocked.wait()
        reader.messages.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await asyncio.sleep(0.01)


async def test_a_client_that_leaves_with_the_servers_code_has_its_work_ended(
    runner: FakeRunner,
) -> None:
    async with slow_reader(runner) as reader:
        runner.gate.clear()
        reader.ask(id="a")
        await eventually(runner.is_stepping.is_set)
        reader.messages.put_nowait({"type": "websocket.disconnect", "code": LEAVING})
        await asyncio.sleep(0.01)
        runner.gate.set()
        await eventually(lambda: not runner.running)
        await asyncio.sleep(0.01)
        assert not [m for m in reader.sent if m["type"] == "final"]
