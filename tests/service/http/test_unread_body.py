"""An answer that comes before the body was read reaches the client; clients that leave are no
errors."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.http.middleware import Exchange
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.clients import FIELDS, JSON
from tests.service.http.wire_client import head
from tests.service.served import Served, served

FIVE_MEGABYTES = 5 * 2**20
BODY = json.dumps(FIELDS).encode()
GONE = 'dragoman_requests_total{endpoint="/translate",outcome="cancelled"}'


@pytest.fixture
def server(runner: FakeRunner) -> Iterator[Served]:
    with served(create_app(Settings(), [fake_model(runner)])) as server:
        yield server


def read_answer(client: socket.socket) -> tuple[int, dict[str, Any]]:
    response = http.client.HTTPResponse(client, method="POST")
    response.begin()
    return response.status, json.loads(response.read())


def is_ended(client: socket.socket) -> bool:
    """Whether the server has closed or reset the connection; what it still sent is skipped."""
    try:
        while client.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    ("path", "content_type", "status"),
    [
        ("/translate", "application/json", 413),
        ("/translate", "text/html", 415),
        ("/nowhere", "application/json", 404),
        ("/languages", "application/json", 405),
    ],
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_every_client_reads_why_five_megabytes_are_refused(
    server: Served, path: str, content_type: str, status: int, is_chunked: bool
) -> None:
    """Also urllib, which reads nothing before it has sent all."""
    data = b"a" * FIVE_MEGABYTES
    chunks = (data[i : i + 65536] for i in range(0, len(data), 65536)) if is_chunked else None
    request = urllib.request.Request(
        server.url + path, chunks or data, {"Content-Type": content_type}, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value as answer:
        assert answer.code == status
        assert json.load(answer)["error"]


def test_a_server_that_takes_no_work_refuses_readably(server: Served) -> None:
    server.app.state.server.engines["fake"].refuse_new_work()
    response = httpx.post(f"{server.url}/translate", content=b"a" * FIVE_MEGABYTES, headers=JSON)
    assert (response.status_code, response.json()["code"]) == (503, "draining")


def test_a_client_that_waits_for_100_continue_is_refused_without_it(server: Served) -> None:
    announced = ("Content-Type: application/json", f"Content-Length: {FIVE_MEGABYTES}")
    with server.connect() as client:
        client.sendall(head("/translate", *announced, "Expect: 100-continue"))
        client.settimeout(60)
        assert client.recv(1000, socket.MSG_PEEK).startswith(b"HTTP/1.1 413 ")
        status, body = read_answer(client)
    assert (status, body["code"]) == (413, "body_too_large")


def test_a_client_that_waits_for_100_continue_gets_it_for_a_good_request(server: Served) -> None:
    announced = ("Content-Type: application/json", f"Content-Length: {len(BODY)}")
    with server.connect() as client:
        client.sendall(head("/translate", *announced, "Expect: 100-continue"))
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(BODY)
        assert read_answer(client) == (200, {"translatedText": "HI."})


@pytest.fixture
def impatient(runner: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that discards at most a megabyte, for a second."""
    monkeypatch.setattr(Exchange, "max_bytes", 2**20)
    monkeypatch.setattr(Exchange, "max_seconds", 1.0)
    with served(create_app(Settings(), [fake_model(runner)])) as server:
        yield server


@pytest.mark.parametrize("announced", ["Content-Length: 99999999999", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("pause_seconds", [0.0, 0.05])
def test_a_client_that_never_stops_sending_is_cut_off(
    impatient: Served, announced: str, pause_seconds: float
) -> None:
    """Fast, by the bytes; slowly, by the time. It has its answer before that."""
    num_bytes = 65536 if pause_seconds == 0 else 1
    piece = b"a" * num_bytes
    if "chunked" in announced:
        piece = b"%x\r\n%s\r\n" % (num_bytes, piece)
    num_sent = 0
    with impatient.connect() as client:
        client.sendall(head("/translate", announced))
        assert read_answer(client)[0] == 415
        client.settimeout(60)
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - started < 50:
                client.sendall(piece)
                num_sent += len(piece)
                time.sleep(pause_seconds)
            raise AssertionError("the connection was never closed")
    assert num_sent < 100 * 2**20


def leave(client: socket.socket, how: str) -> None:
    """Close, reset (unread data or no lingering) or close only the sending half."""
    if how == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if how == "half-close":
        client.shutdown(socket.SHUT_WR)
        client.settimeout(60)
        assert is_ended(client)
    client.close()


def assert_no_error(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    assert 'outcome="error"' not in server.metrics()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    ready = httpx.get(f"{server.url}/health/ready")
    assert ready.status_code == 200


LEAVING = pytest.mark.parametrize("how", ["close", "reset", "half-close"])


@LEAVING
@pytest.mark.parametrize(
    ("kind", "size", "sent"),
    [
        ("application/json", "Content-Length: 1000", b'{"q":'),
        ("application/json", "Transfer-Encoding: chunked", b'5\r\n{"q":\r\n'),
        ("multipart/form-data; boundary=B", "Content-Length: 1000", b"--B\r\n"),
    ],
)
def test_leaving_while_sending_the_body_is_no_error(
    server: Served, caplog: pytest.LogCaptureFixture, how: str, kind: str, size: str, sent: bytes
) -> None:
    client = server.connect()
    client.sendall(head("/translate", f"Content-Type: {kind}", size) + sent)
    time.sleep(0.05)
    leave(client, how)
    until(lambda: server.count(GONE) == 1)
    assert_no_error(server, caplog)


@LEAVING
def test_leaving_while_a_refused_body_is_discarded_is_no_error(
    server: Served, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    client = server.connect()
    client.sendall(head("/translate", f"Content-Length: {FIVE_MEGABYTES}") + b"a" * 70_000)
    assert read_answer(client)[0] == 415
    leave(client, how)
    until(lambda: server.count('dragoman_requests_total{endpoint="/translate"') == 1)
    assert_no_error(server, caplog)
