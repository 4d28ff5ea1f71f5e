"""A full server refuses a request by its head, on a connection that goes on."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from service.app import create_app
from service.errors import Overloaded
from service.http.middleware import RequestMiddleware
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.protocols.wire import read_to_end
from tests.service.served import Served, served

BODY = json.dumps({"q": "Hi.", "source": "en", "target": "de"}).encode()
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
REJECTED = 'dragoman_requests_total{endpoint="/translate",outcome="rejected"}'
CANCELLED = 'dragoman_requests_total{endpoint="/translate",outcome="cancelled"}'
WAITING = 'dragoman_waiting{model="fake"}'
REASON = 'dragoman_rejected_total{reason="overloaded"}'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server without room."""
    app = create_app(Settings(cors_origins=["https://a.example"]), [fake_model(FakeRunner())])
    monkeypatch.setattr("service.engine.engine.Engine.refusal", lambda *_: Overloaded("full"))
    with served(app) as server:
        yield server


@pytest.fixture
def no_app(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Requests that reach the app fail."""

    async def fail(*_: object) -> None:
        raise AssertionError("the app was called")

    monkeypatch.setattr("service.http.middleware.RequestMiddleware.__call__", fail)
    return server


def post(
    *headers: str, path: str = "/translate", body: bytes = BODY, version: str = "1.1"
) -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: x", "Content-Type: application/json", *headers]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def read_answer(client: socket.socket) -> tuple[http.client.HTTPResponse, dict[str, Any]]:
    response = http.client.HTTPResponse(client, method="POST")
    response.begin()
    return response, json.loads(response.read())


def test_a_refusal_never_reaches_the_app_and_keeps_the_connection(no_app: Served) -> None:
    with no_app.connect() as client:
        for number in range(3):
            client.sendall(post(f"X-Request-ID: mine-{number}"))
            response, body = read_answer(client)
            assert response.status == 503
            assert response.headers["Retry-After"] == "1"
            assert response.headers["X-Request-ID"] == body["request_id"] == f"mine-{number}"
            assert body["code"] == "overloaded"
    assert no_app.count(REJECTED) == no_app.count(REASON) == 3


def test_an_unsafe_request_id_is_replaced(no_app: Served) -> None:
    with no_app.connect() as client:
        client.sendall(post("X-Request-ID: a b"))
        assert len(read_answer(client)[1]["request_id"]) == 32


@pytest.mark.parametrize(
    ("path", "member"), [("/v2/translate", "message"), ("/language/translate/v2", "error")]
)
def test_a_refusal_has_the_format_of_the_paths_api(no_app: Served, path: str, member: str) -> None:
    with no_app.connect() as client:
        client.sendall(post(path=path))
        response, body = read_answer(client)
    assert response.status == 503
    assert list(body) == [member]


def test_a_body_in_pieces_is_read_to_its_end_before_the_answer(no_app: Served) -> None:
    request = post()
    with no_app.connect() as client:
        for start in range(0, len(request), 25):
            client.sendall(request[start : start + 25])
            time.sleep(0.002)
        assert read_answer(client)[0].status == 503
        client.sendall(post())
        assert read_answer(client)[0].status == 503


def test_probes_and_metrics_are_answered_in_order_among_pipelined_refusals(server: Served) -> None:
    scrape = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with server.connect() as client:
        client.sendall(post() + LIVE + post() + post() + LIVE + scrape)
        received = read_to_end(client)
    statuses = [int(part.split()[0]) for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [503, 200, 503, 503, 200, 200]


@pytest.mark.parametrize(
    ("headers", "version"), [(["Connection: close"], "1.1"), ([], "1.0")], ids=["close", "1.0"]
)
def test_a_client_that_wants_the_connection_closed_is_refused_and_closed(
    server: Served, headers: list[str], version: str
) -> None:
    with server.connect() as client:
        client.sendall(post(*headers, version=version))
        assert b" 503 " in read_to_end(client)


def test_a_page_of_another_origin_may_read_the_refusal(server: Served) -> None:
    with server.connect() as client:
        client.sendall(post("Origin: https://a.example"))
        response, _ = read_answer(client)
    assert response.status == 503
    assert response.headers["Access-Control-Allow-Origin"] == "https://a.example"


def test_a_large_body_is_refused_before_it_is_complete(server: Served) -> None:
    with server.connect() as client:
        client.sendall(post(body=b"x" * 100_000)[:1000])
        response = http.client.HTTPResponse(client, method="POST")
        response.begin()
        assert response.status == 503


def test_a_client_that_leaves_within_the_body_counts_once_as_cancelled(no_app: Served) -> None:
    with no_app.connect() as client:
        client.sendall(post()[:-5])
        until(lambda: no_app.count(REASON) == 1)
    until(lambda: no_app.count(CANCELLED) == 1)
    assert no_app.count(REJECTED) == 0


def test_a_client_that_never_reads_its_refusals_is_not_read_either(server: Served) -> None:
    flood, sent, most = post() * 500, 0, 50 * 2**20
    with server.connect() as client:
        client.settimeout(2.0)
        with contextlib.suppress(TimeoutError):
            while sent < most:
                sent += client.send(flood)
    assert sent < most


def test_requests_are_read_again_as_soon_as_there_is_room(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.connect() as client:
        client.sendall(post())
        assert read_answer(client)[0].status == 503
        monkeypatch.setattr("service.engine.engine.Engine.refusal", lambda *_: None)
        client.sendall(post())
        assert read_answer(client)[1] == {"translatedText": "HI."}


def test_of_requests_read_together_only_those_with_room_reach_the_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One translates and one waits: of twenty more, three of the four places are left."""
    runner, begun = FakeRunner(max_slots=1), []
    runner.gate.clear()
    original = RequestMiddleware.__call__

    async def noted(self: RequestMiddleware, scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])
        await original(self, scope, receive, send)

    app = create_app(Settings(max_waiting_sentences=4, cache_bytes=0), [fake_model(runner)])
    with served(app) as server, contextlib.ExitStack() as connections:
        clients = [connections.enter_context(server.connect()) for _ in range(22)]
        clients[0].sendall(post())
        until(runner.is_stepping.is_set)
        clients[1].sendall(post())
        until(lambda: server.count(WAITING) == 1)
        for client in clients[2:]:
            client.sendall(LIVE)
            read_answer(client)
        monkeypatch.setattr(RequestMiddleware, "__call__", noted)
        _send_in_one_turn(server, clients[2:])
        until(lambda: server.count(REASON) == 17 and len(begun) >= 3)
        assert begun == ["/translate"] * 3
        runner.gate.set()
        statuses = [read_answer(client)[0].status for client in clients]
    assert sorted(statuses) == [200] * 5 + [503] * 17


def _send_in_one_turn(server: Served, clients: list[socket.socket]) -> None:
    """Each sends a request while the event loop is held, so that it reads them together."""
    is_held, is_sent = threading.Event(), threading.Event()

    def hold() -> None:
        is_held.set()
        is_sent.wait()

    server.loop.call_soon_threadsafe(hold)
    is_held.wait()
    for client in clients:
        client.sendall(post())
    is_sent.set()
