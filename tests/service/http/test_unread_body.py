"""An answer that comes before the body was read reaches the client; clients that leave are no
errors."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import httpx
import pytest

from service.app import create_app
from service.http.exchange import Exchange
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.clients import FIELDS
from tests.service.http.wire_client import head, read_answer, read_to_end
from tests.service.served import Served, served

FIVE_MEGABYTES = 5 * 2**20
BODY = json.dumps(FIELDS).encode()
KIND = "Content-Type: application/json"


@pytest.fixture
def server(runner: FakeRunner) -> Iterator[Served]:
    with served(create_app(Settings(), [fake_model(runner)])) as server:
        yield server


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


def test_a_client_that_waits_for_100_continue_gets_it_or_its_refusal(server: Served) -> None:
    for num_bytes, expected in ((FIVE_MEGABYTES, b"413"), (len(BODY), b"100")):
        size = f"Content-Length: {num_bytes}"
        with server.connect() as client:
            client.sendall(head("/translate", KIND, size, "Expect: 100-continue"))
            assert client.recv(1000).split()[1] == expected
            if expected == b"100":
                client.sendall(BODY)
                assert read_answer(client) == (200, {"translatedText": "HI."})


@pytest.mark.parametrize("announced", ["Content-Length: 99999999999", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("pause_seconds", [0.0, 0.05])
def test_a_client_that_never_stops_sending_is_cut_off(
    server: Served, monkeypatch: pytest.MonkeyPatch, announced: str, pause_seconds: float
) -> None:
    """Fast, by the bytes; slowly, by the time. It has its answer before that."""
    monkeypatch.setattr(Exchange, "max_bytes", 2**20)
    monkeypatch.setattr(Exchange, "max_seconds", 1.0)
    num_bytes = 65536 if pause_seconds == 0 else 1
    piece = b"a" * num_bytes
    if "chunked" in announced:
        piece = b"%x\r\n%s\r\n" % (num_bytes, piece)
    num_sent = 0
    with server.connect() as client:
        client.sendall(head("/translate", announced))
        assert read_answer(client)[0] == 415
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - started < 50:
                client.sendall(piece)
                num_sent += len(piece)
                time.sleep(pause_seconds)
            raise AssertionError("the connection was never closed")
    assert num_sent < 100 * 2**20


@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
@pytest.mark.parametrize(
    ("kind", "size", "sent", "outcome"),
    [
        ("application/json", "Content-Length: 1000", b'{"q":', "cancelled"),
        ("application/json", "Transfer-Encoding: chunked", b'5\r\n{"q":\r\n', "cancelled"),
        ("multipart/form-data; boundary=B", "Content-Length: 1000", b"--B\r\n", "cancelled"),
        ("text/html", f"Content-Length: {FIVE_MEGABYTES}", b"a" * 70_000, "client_error"),
    ],
)
def test_leaving_while_the_body_is_read_or_discarded_is_no_error(
    server: Served,
    caplog: pytest.LogCaptureFixture,
    how: str,
    kind: str,
    size: str,
    sent: bytes,
    outcome: str,
) -> None:
    """Close, reset (no lingering) or close only the sending half."""
    with server.connect() as client:
        client.sendall(head("/translate", f"Content-Type: {kind}", size) + sent)
        if outcome == "client_error":
            assert read_answer(client)[0] == 415
        else:
            time.sleep(0.05)
        if how == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        if how == "half-close":
            client.shutdown(socket.SHUT_WR)
            read_to_end(client)
    counted = f'dragoman_requests_total{{endpoint="/translate",outcome="{outcome}"}}'
    until(lambda: server.count(counted) == 1)
    assert 'outcome="error"' not in server.metrics()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert httpx.get(f"{server.url}/health/ready").status_code == 200
