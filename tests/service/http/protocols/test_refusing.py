"""A client whose request finds no memory is told 503, and others are answered."""

from __future__ import annotations

import json
import logging
import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.app import create_app
from service.errors import Exhausted
from service.http.protocols.raw_answers import EXHAUSTED
from service.http.protocols.received import BufferedReceiver
from service.http.protocols.refusing import RefusingProtocol
from service.http.unread_body import UnreadBodyMiddleware
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.protocols.wire import (
    TEXT,
    answer_of,
    close_code_of,
    frame,
    handshake,
    open_websocket,
    read_to_end,
    read_until,
)
from tests.service.served import Served, served

BODY = json.dumps({"q": "Hi.", "source": "en", "target": "de"}).encode()
PIECE, NUM_PIECES = b"x" * 65536, 40
COUNTED = 'dragoman_rejected_total{reason="exhausted"}'


class Memory:
    """Is out for what connections read while `is_out`."""

    is_out = False
    num_failures = 0

    def __getitem__(self, _: slice) -> bytes:
        raise MemoryError


def no_memory(*_: object, **__: object) -> Any:
    raise MemoryError


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory, updated = Memory(), BufferedReceiver.buffer_updated

    def without(receiver: Any, num_bytes: int) -> None:
        if not memory.is_out:
            updated(receiver, num_bytes)
            return
        view, receiver._view = receiver._view, memory
        try:
            updated(receiver, num_bytes)
        finally:
            receiver._view = view

    monkeypatch.setattr(BufferedReceiver, "buffer_updated", without)
    return memory


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def server(runner: FakeRunner) -> Iterator[Served]:
    with served(create_app(Settings(), [fake_model(runner)])) as server:
        yield server
        answer = httpx.post(f"{server.url}/translate", content=BODY, headers=JSON)
        assert answer.status_code == 200  # whatever happened, others are answered


JSON = {"Content-Type": "application/json"}


def post(num_bytes: int, *headers: str) -> bytes:
    lines = [
        "POST /translate HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {num_bytes}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def wait_for_answer(client: socket.socket) -> None:
    assert select.select([client], [], [], 60)[0]


def send_slowly(client: socket.socket) -> None:
    """A client that reads nothing before it has sent all: a reset fails it."""
    for _ in range(NUM_PIECES):
        client.sendall(PIECE)
        time.sleep(0.002)


def send_much(client: socket.socket) -> None:
    """Raises ConnectionError as soon as the server has closed the connection."""
    for _ in range(1000):
        client.sendall(b"x")
        time.sleep(0.001)


def test_an_early_answer_is_not_lost_when_the_rest_of_the_body_finds_no_memory(
    server: Served, memory: Memory
) -> None:
    with server.connect() as client:
        client.sendall(post(2**24) + PIECE)  # larger than is allowed
        wait_for_answer(client)
        memory.is_out = True
        send_slowly(client)
        memory.is_out = False
        assert answer_of(read_to_end(client))[0] == 413
    assert server.count(COUNTED) == 1


def test_an_early_answer_is_not_lost_when_the_app_has_no_memory_for_the_rest_of_the_body(
    server: Served, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, memory.num_failures = RequestResponseCycle.receive, 0

    async def fail(cycle: RequestResponseCycle) -> Any:
        message = await receive(cycle)
        if cycle.response_started and not cycle.response_complete:
            memory.num_failures += 1
            raise MemoryError
        return message

    monkeypatch.setattr(RequestResponseCycle, "receive", fail)
    with server.connect() as client:
        client.sendall(post(2**24) + PIECE)
        wait_for_answer(client)
        send_slowly(client)
        assert answer_of(read_to_end(client))[0] == 413
    assert memory.num_failures


@pytest.mark.parametrize("headers", [[], ["Accept: text/event-stream"]], ids=["whole", "stream"])
def test_an_answer_under_way_goes_on_when_the_next_request_finds_no_memory(
    server: Served, runner: FakeRunner, memory: Memory, headers: list[str]
) -> None:
    runner.gate.clear()
    with server.connect() as client:
        client.sendall(post(len(BODY), *headers) + BODY)
        until(lambda: bool(runner.running))
        memory.is_out = True
        client.sendall(post(len(BODY)) + BODY)
        until(lambda: server.count(COUNTED) == 1)
        memory.is_out = False
        runner.gate.set()
        received = read_to_end(client)  # to the end: the connection is closed
    assert received.count(b"HTTP/1.1 200 OK") == 1
    assert received.endswith(b"0\r\n\r\n" if headers else b"}")
    assert b"translatedText" in received


def fail_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Callable[[], int]:
    """Make the first call fail -> how many calls there were."""
    method, calls = getattr(owner, name), 0

    def call(*arguments: Any, **fields: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise MemoryError
        return method(*arguments, **fields)

    monkeypatch.setattr(owner, name, call)
    return lambda: calls


@pytest.mark.parametrize("place", ["refusal", "secrets.token_hex", "_logger.info"])
def test_a_refusal_that_cannot_be_made_is_the_one_made_beforehand(
    server: Served, memory: Memory, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(f"service.http.protocols.refusing.{place}", no_memory)
    memory.is_out = True
    with server.connect() as client:
        client.sendall(post(1000) + b"x")
        received = read_to_end(client)
    memory.is_out = False
    assert received == EXHAUSTED
    status, body = answer_of(received)
    assert (status, body["code"]) == (503, Exhausted.code)
    assert b"retry-after" in received.lower()
    assert server.count(COUNTED) == 1


def test_a_refusal_whose_delay_cannot_be_scheduled_still_ends_the_connection(
    server: Served,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class NoTimer:
        call_later = staticmethod(no_memory)

    end_with = RefusingProtocol._end_with

    def end(protocol: Any, data: bytes) -> None:
        loop, protocol.loop = protocol.loop, NoTimer()
        end_with(protocol, data)
        protocol.loop = loop

    monkeypatch.setattr(RefusingProtocol, "_end_with", end)
    memory.is_out = True
    with server.connect() as client:
        client.sendall(post(1000))
        assert answer_of(read_to_end(client))[0] == 503
        with pytest.raises(ConnectionError):
            send_much(client)
    memory.is_out = False
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_request_whose_task_cannot_be_made_gets_503(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fail_once(monkeypatch, RequestResponseCycle, "run_asgi")
    with server.connect() as client:
        client.sendall(post(len(BODY)) + BODY)
        assert read_to_end(client) == EXHAUSTED
    assert calls() == 1


def test_a_pipelined_request_whose_task_cannot_be_made_gets_503_after_the_first_answer(
    server: Served, runner: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.gate.clear()
    with server.connect() as client:
        client.sendall((post(len(BODY)) + BODY) * 2)
        until(lambda: bool(runner.running))
        calls = fail_once(monkeypatch, RequestResponseCycle, "run_asgi")
        runner.gate.set()
        received = read_to_end(client)
    assert received.startswith(b"HTTP/1.1 200 OK")
    assert received.endswith(EXHAUSTED)
    assert calls() == 1


@pytest.mark.parametrize("num_sent", [len(BODY), 2], ids=["whole body", "part of it"])
def test_what_lacks_memory_outside_of_the_app_gets_503(
    server: Served, monkeypatch: pytest.MonkeyPatch, num_sent: int
) -> None:
    with monkeypatch.context() as patch, server.connect() as client:
        patch.setattr(UnreadBodyMiddleware, "__call__", no_memory)
        client.sendall(post(len(BODY)) + BODY[:num_sent])
        status, body = answer_of(read_until(client, b"}"))
        assert (status, body["code"]) == (503, Exhausted.code)
    with monkeypatch.context() as patch, server.connect() as client:
        patch.setattr(UnreadBodyMiddleware, "__call__", no_memory)
        patch.setattr("service.http.error_handlers.error_response", no_memory)
        client.sendall(post(len(BODY)) + BODY[:num_sent])
        assert read_to_end(client) == EXHAUSTED


def test_an_app_without_memory_for_its_answer_is_answered_for(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.http.request_body.from_json", no_memory)
    monkeypatch.setattr("service.http.middleware.error_response", no_memory)
    answer = httpx.post(f"{server.url}/translate", content=BODY, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (503, Exhausted.code)
    assert answer.json()["request_id"] not in ("", "none")
    until(lambda: server.count(COUNTED) == 1)
    monkeypatch.setattr("service.http.error_handlers.error_response", no_memory)
    with server.connect() as client:
        client.sendall(post(len(BODY)) + BODY)
        assert read_to_end(client) == EXHAUSTED
    assert server.count(COUNTED) == 2
    monkeypatch.undo()


def test_an_answer_that_fails_midway_for_lack_of_memory_is_cut_and_the_connection_closed(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def begin(_: object, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"10")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"12", "more_body": True})
        raise MemoryError

    monkeypatch.setattr(UnreadBodyMiddleware, "__call__", begin)
    with server.connect() as client:
        client.sendall(post(len(BODY)) + BODY)
        assert read_to_end(client).endswith(b"\r\n\r\n12")
    monkeypatch.undo()


@pytest.mark.parametrize("place", ["_logger.error", "RequestMiddleware._log"])
def test_a_failure_without_memory_to_log_it_is_answered_all_the_same(
    server: Served, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr("service.http.request_body.from_json", no_memory)
    monkeypatch.setattr(f"service.http.middleware.{place}", no_memory)
    answer = httpx.post(f"{server.url}/translate", content=BODY, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (503, Exhausted.code)
    monkeypatch.undo()


def test_what_the_app_has_no_memory_for_is_counted_once(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.http.request_body.from_json", no_memory)
    assert httpx.post(f"{server.url}/translate", content=BODY, headers=JSON).status_code == 503
    until(lambda: server.count(COUNTED) == 1)
    monkeypatch.undo()


def test_a_websocket_whose_message_finds_no_memory_is_told_to_come_again(
    server: Served, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    message = json.dumps({"id": 1, "q": "Hi.", "source": "en", "target": "de"}).encode()
    with server.connect() as other, server.connect() as client:
        open_websocket(other)
        open_websocket(client)
        memory.is_out = True
        with caplog.at_level(logging.ERROR):
            client.sendall(frame(TEXT, message))
            assert close_code_of(read_to_end(client)) == 1013
        memory.is_out = False
        other.sendall(frame(TEXT, message))
        assert b'"final"' in read_until(other, b'"final"')
    assert server.count(COUNTED) == 1
    assert not caplog.records


def test_a_websocket_whose_close_finds_no_memory_is_ended(
    server: Served, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.connect() as client:
        open_websocket(client)
        monkeypatch.setattr("service.http.protocols.websocket.BoundedConnection.fail", no_memory)
        memory.is_out = True
        client.sendall(frame(TEXT, b"{}"))
        assert read_to_end(client) == b""
    memory.is_out = False
    assert server.count(COUNTED) == 1


def test_a_handshake_that_finds_no_memory_gets_503(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("WebSocketProtocol.connection_made", "BoundedConnection.accept"):
        with monkeypatch.context() as patch, server.connect() as client:
            patch.setattr(f"service.http.protocols.websocket.{method}", no_memory)
            client.sendall(handshake())
            assert read_to_end(client) == EXHAUSTED
    assert server.count(COUNTED) == 2
