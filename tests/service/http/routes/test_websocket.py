"""The websocket: many requests on one connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketTestSession
from starlette.types import Message
from starlette.websockets import WebSocket

from service.app import create_app
from service.errors import Overloaded
from service.http.routes.websocket import LEAVING, SERVER_LEAVES
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.dispatcher import Dispatcher
from service.translation.translator import Pieces
from tests.service.fakes import FakeRunner, eventually, fake_model, until

PATH = "/translate/stream"


def ask(socket: WebSocketTestSession, request_id: str | int, q: str, **fields: Any) -> None:
    socket.send_json({"id": request_id, "q": q, "source": "en", "target": "de", **fields})


def answer(socket: WebSocketTestSession, request_id: str | int) -> list[dict[str, Any]]:
    """All messages up to the end of this request; it must be the only one in progress."""
    messages = []
    while True:
        messages.append(socket.receive_json())
        assert messages[-1]["id"] == request_id
        if messages[-1]["type"] != "token":
            return messages


def test_pieces_join_to_the_final_text(client: TestClient) -> None:
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "one two. three", beam_size=1)
        *tokens, final = answer(socket, "a")
        assert final["type"] == "final"
        assert final["translatedText"] == "ONE TWO. THREE"
        assert "".join(token["text"] for token in tokens) == "ONE TWO. THREE"
        assert {token["segment"] for token in tokens} == {0, 1}


def test_requests_on_one_connection_are_told_apart_and_a_short_one_overtakes(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
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
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "x" * 30, beam_size=1)
        until(runner.is_stepping.is_set)
        socket.send_json({"id": "a", "cancel": True})
        assert answer(socket, "a")[-1]["code"] == "cancelled"
        runner.gate.set()
        until(lambda: runner.num_free_slots == runner.max_slots)
        ask(socket, "a", "again", beam_size=1)
        assert answer(socket, "a")[-1]["translatedText"] == "AGAIN"


def test_a_request_cancelled_in_the_same_breath_still_gets_its_answer(client: TestClient) -> None:
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "x" * 30)
        socket.send_json({"id": "a", "cancel": True})
        assert answer(socket, "a")[-1]["code"] == "cancelled"


def test_leaving_frees_everything(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        for number in range(6):
            ask(socket, number, "x" * 30)
        until(runner.is_stepping.is_set)
    runner.gate.set()
    until(lambda: runner.num_free_slots == runner.max_slots)
    assert "dragoman_open_streams 0.0" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "invalid_json"),
        ("[]", "invalid_message"),
        ('"text"', "invalid_message"),
        ('{"q": "a", "source": "en", "target": "de"}', "invalid_message"),
        ('{"id": 1.5, "q": "a", "source": "en", "target": "de"}', "invalid_message"),
        ('{"id": true, "q": "a", "source": "en", "target": "de"}', "invalid_message"),
        ('{"id": "a"}', "missing_field"),
        ('{"id": "a", "q": 5, "source": "en", "target": "de"}', "invalid_field"),
        ('{"id": "a", "q": "b", "source": "en", "target": "xx"}', "unsupported_language"),
        ('{"id": "a", "q": "\\ud800", "source": "en", "target": "de"}', "invalid_json"),
        ('{"id": "a", "cancel": true}', "unknown_id"),
        (b'{"id": "a"}', "invalid_message"),
        (f'{{"id": "a", "q": "{"x" * 1001}", "source": "en", "target": "de"}}', "text_too_long"),
    ],
)
def test_a_bad_message_is_answered_and_the_connection_goes_on(
    client: TestClient, message: str | bytes, code: str
) -> None:
    with client.websocket_connect(PATH) as socket:
        if isinstance(message, bytes):
            socket.send_bytes(message)
        else:
            socket.send_text(message)
        error = socket.receive_json()
        assert (error["type"], error["code"]) == ("error", code)
        assert error["error"]
        ask(socket, "next", "fine")
        assert answer(socket, "next")[-1]["translatedText"] == "FINE"


def test_an_id_in_progress_cannot_be_used_again(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "xx", beam_size=1)
        ask(socket, "a", "yy", beam_size=1)
        assert socket.receive_json()["code"] == "duplicate_id"
        runner.gate.set()
        assert answer(socket, "a")[-1]["translatedText"] == "XX"


def test_too_many_requests_an_oversize_message_and_silence_end_as_documented() -> None:
    runner = FakeRunner()
    settings = Settings(max_streams=2, max_body_bytes=1024, stream_idle_seconds=1.0)
    with TestClient(create_app(settings, [fake_model(runner)])) as client:
        with client.websocket_connect(PATH) as socket:
            runner.gate.clear()
            for number in range(3):
                ask(socket, number, "x")
            assert socket.receive_json()["code"] == "too_many_streams"
            runner.gate.set()
        with client.websocket_connect(PATH) as socket:
            socket.send_text("x" * 2000)
            assert socket.receive()["code"] == 1009
        with client.websocket_connect(PATH) as socket:
            assert socket.receive()["code"] == 1001


def test_requests_on_a_stream_are_counted(client: TestClient) -> None:
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "x")
        answer(socket, "a")
    counted = 'dragoman_requests_total{endpoint="/translate/stream",outcome="ok"} 1.0'
    until(lambda: counted in client.get("/metrics").text)


class Injected(Exception):
    """What nobody foresaw."""


@pytest.mark.parametrize(("owner", "name"), [(Metrics, "count_rejected"), (WebSocket, "send_text")])
@pytest.mark.parametrize("q", ["fine", "x" * 1001])
def test_a_client_that_cannot_be_told_is_disconnected(
    owner: Any,
    name: str,
    q: str,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> None:
        raise Injected

    if (name, q) == ("count_rejected", "fine"):
        monkeypatch.setattr(Dispatcher, "stream", lambda *_: overloaded())
    monkeypatch.setattr(owner, name, fail)
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", q, beam_size=1)
        closed = socket.receive()
        while closed["type"] != "websocket.close":
            closed = socket.receive()
        assert closed["code"] == 1011
    assert "Injected" in caplog.text
    until(lambda: "dragoman_open_streams 0.0" in client.get("/metrics").text)


@contextlib.asynccontextmanager
async def overloaded() -> AsyncGenerator[Pieces]:
    raise Overloaded("full")
    yield  # type: ignore[unreachable]


class SlowReader:
    """A client on the ASGI level whose reading can be stopped."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.can_read, self.is_blocked = asyncio.Event(), asyncio.Event()
        self.can_read.set()
        self.messages.put_nowait({"type": "websocket.connect"})

    def ask(self, **fields: Any) -> None:
        message = {"q": "one two", "source": "en", "target": "de", "beam_size": 1, **fields}
        self.messages.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    async def send(self, message: Message) -> None:
        if message["type"] == "websocket.send" and not self.can_read.is_set():
            self.is_blocked.set()
            await self.can_read.wait()
        if message["type"] == "websocket.send":
            self.sent.append(json.loads(message["text"]))

    def num_ended(self, request_id: str) -> int:
        return sum(m["id"] == request_id and m["type"] != "token" for m in self.sent)


async def with_slow_reader(
    runner: FakeRunner, scenario: Callable[[SlowReader], Any]
) -> asyncio.Task[None]:
    app = create_app(Settings(), [fake_model(runner)])
    async with app.router.lifespan_context(app):
        reader = SlowReader()
        scope = {"type": "websocket", "path": PATH, "headers": [], "query_string": b""}
        serving = asyncio.create_task(app({**scope, "app": app}, reader.messages.get, reader.send))
        await scenario(reader)
        reader.can_read.set()
        if not serving.done():
            reader.messages.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(60):
            await serving
        return serving


@pytest.mark.parametrize("num_cancels", [1, 2, 3])
def test_cancelled_while_its_reader_is_slow_a_request_still_ends_once(num_cancels: int) -> None:
    async def scenario(reader: SlowReader) -> None:
        reader.can_read.clear()
        reader.ask(id="a")
        await reader.is_blocked.wait()
        for _ in range(num_cancels):
            reader.ask(id="a", cancel=True)
        await eventually(reader.messages.empty)
        await asyncio.sleep(0.01)
        reader.can_read.set()
        await eventually(lambda: reader.num_ended("a") > 0)
        reader.ask(id="a")
        await eventually(lambda: reader.num_ended("a") > 1)
        assert [m["type"] for m in reader.sent if m["type"] != "token"] == ["error", "final"]

    asyncio.run(with_slow_reader(FakeRunner(), scenario))


def test_cancelled_while_its_error_waits_for_its_reader_a_request_ends_with_that_error() -> None:
    async def scenario(reader: SlowReader) -> None:
        reader.can_read.clear()
        reader.ask(id="a", q="bad")
        await reader.is_blocked.wait()
        reader.ask(id="a", cancel=True)
        await eventually(reader.messages.empty)
        await asyncio.sleep(0.01)
        reader.can_read.set()
        await eventually(lambda: reader.num_ended("a") > 0)
        assert [m["code"] for m in reader.sent] == ["translation_failed"]

    runner = FakeRunner()
    runner.poison = ord("b")
    asyncio.run(with_slow_reader(runner, scenario))


def test_a_client_that_leaves_while_it_does_not_read_leaves_nothing_behind() -> None:
    async def scenario(reader: SlowReader) -> None:
        reader.can_read.clear()
        reader.ask(id="a")
        await reader.is_blocked.wait()
        reader.messages.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await asyncio.sleep(0.01)

    serving = asyncio.run(with_slow_reader(FakeRunner(), scenario))
    assert serving.exception() is None


@pytest.mark.parametrize(
    ("message", "num_finals"),
    [({"type": "websocket.disconnect", "code": LEAVING}, 0), (SERVER_LEAVES, 1)],
    ids=["the client", "the server"],
)
def test_only_if_the_server_leaves_is_work_finished_whatever_code_a_client_sends(
    message: Message, num_finals: int
) -> None:
    runner = FakeRunner()

    async def scenario(reader: SlowReader) -> None:
        runner.gate.clear()
        reader.ask(id="a")
        await eventually(runner.is_stepping.is_set)
        reader.messages.put_nowait(message)
        await asyncio.sleep(0.01)
        runner.gate.set()
        await eventually(lambda: not runner.running)
        await asyncio.sleep(0.01)
        finals = [m for m in reader.sent if m["type"] == "final"]
        assert len(finals) == num_finals

    asyncio.run(with_slow_reader(runner, scenario))
