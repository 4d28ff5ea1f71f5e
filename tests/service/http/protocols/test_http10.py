"""Clients of HTTP/1.0: they know no chunks, and their connection ends with the answer."""

from __future__ import annotations

import json
import socket

import pytest

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import served

BODY = json.dumps({"q": "One. Two.", "source": "en", "target": "de", "beam_size": 1}).encode()


def ask(client: socket.socket, method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    """The whole answer, until the connection ends."""
    lines = [f"{method} {path} HTTP/1.0", f"Content-Length: {len(body)}", *headers, "", ""]
    client.sendall("\r\n".join(lines).encode() + body)
    client.settimeout(60)
    answer = b""
    while piece := client.recv(65536):
        answer += piece
    return answer


@pytest.mark.parametrize(
    ("method", "path", "headers", "ending"),
    [
        (
            "POST",
            "/translate",
            ["Content-Type: application/json"],
            b'{"translatedText":"ONE. TWO."}',
        ),
        (
            "POST",
            "/translate",
            ["Content-Type: application/json", "Accept: text/event-stream"],
            b'data: {"translatedText":"ONE. TWO.","type":"final"}\n\n',
        ),
        ("GET", "/health/live", [], b'{"status":"ok"}'),
        ("HEAD", "/health/live", [], b"\r\n\r\n"),
        ("GET", "/nowhere", [], b"}"),
    ],
)
def test_no_answer_to_an_old_client_has_chunks(
    method: str, path: str, headers: list[str], ending: bytes
) -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as client:
        answer = ask(client, method, path, *headers, body=BODY)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower()
    assert b"connection: close" in head.lower()
    assert (head + b"\r\n\r\n" + body).endswith(ending)
    if b"event-stream" in head:
        assert body.startswith(b'event: token\ndata: {"type":"token"')
        assert body.count(b"event: ") > 5
