"""Whatever a client sends and wherever, the log does not show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.fakes import until
from tests.service.http.wire_client import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    ServerProcess,
    frame,
    handshake,
)

SECRET = "SESAME" * 3
FIELDS = {"q": SECRET, "source": "en", "target": "de"}
PLACES = ("q", "source", "target", "format", "model", "target_prefix", "beam_size", "nonsense")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "log", is_debugged=True)
    yield process
    process.end()


def post(body: bytes, media_type: str, *headers: str, query: str = "") -> bytes:
    lines = [
        f"POST /translate{query} HTTP/1.1",
        "Host: test",
        f"Content-Type: {media_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def requests() -> Iterator[bytes]:
    for place in PLACES:
        body = json.dumps({**FIELDS, place: SECRET}).encode()
        yield post(body, "application/json")
        yield post(body, "application/json", "Accept: text/event-stream")
        yield post(f"q=a&source=en&target=de&{place}={SECRET}".encode(), "text/plain")
        yield post(f"source=en&{place}={SECRET}".encode(), "application/x-www-form-urlencoded")
        yield post(SECRET.encode(), "text/plain", query=f"?source=en&target=de&{place}={SECRET}")
    yield post(b"{" + SECRET.encode(), "application/json")
    yield post(b'"' + SECRET.encode() + b'\xff"', "application/json")
    yield post(SECRET.encode() + b"\xff", "text/plain", query="?source=en&target=de")
    yield post(b"{}", SECRET)
    for header in ("Authorization", "Cookie", "X-Request-ID", "Accept", "traceparent", SECRET):
        yield post(json.dumps(FIELDS).encode(), "application/json", f"{header}: <{SECRET}>")
    yield f"GET /{SECRET}?{SECRET} HTTP/1.1\r\nHost: {SECRET}\r\nConnection: close\r\n\r\n".encode()
    yield f"{SECRET} / HTTP/1.1\r\n\r\n".encode()
    yield f"GET /{SECRET}\xff HTTP/1.1\r\n\r\n".encode("latin-1")
    yield f"GET / {SECRET}/1.1\r\n\r\n".encode()
    yield f"GET / HTTP/1.1\r\n{SECRET}\x01: x\r\n\r\n".encode()
    yield f"GET / HTTP/1.1\r\na: {SECRET}\r\n".encode() + b"b: c\r\n" * 200
    chunked = "POST /translate HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked"
    yield f"{chunked}\r\n\r\n{SECRET}\r\n".encode()
    yield f"{chunked}\r\n\r\n5;{SECRET}\r\n{SECRET}\r\n".encode()
    upgrade = "GET / HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade"
    yield f"{upgrade}: {SECRET}\r\n\r\n".encode()


def websockets() -> Iterator[bytes]:
    yield handshake(path=f"/translate/stream?q={SECRET}")
    yield handshake(path=f"/{SECRET}?q={SECRET}")
    yield handshake(path=f"/translate/stream?q={SECRET * 1000}")
    yield handshake(f"{SECRET}: {SECRET}", f"Sec-WebSocket-Protocol: {SECRET}")
    yield handshake(f"Sec-WebSocket-Extensions: {SECRET}; {SECRET}={SECRET}")
    yield handshake(f"a: {SECRET}\xe9")
    yield handshake(f"Sec-WebSocket-Key: {SECRET}")
    secret = SECRET.encode()
    messages = [json.dumps({"id": SECRET, **FIELDS, place: SECRET}) for place in PLACES]
    messages += [json.dumps({"id": SECRET, "cancel": True}), SECRET, f'{{"{SECRET}": 1}}']
    for message in messages:
        yield handshake() + b"|" + frame(TEXT, message.encode())
    yield handshake() + b"|" + frame(TEXT, json.dumps({**FIELDS, "id": 1}).encode()) * 3
    for opcode in (BINARY, PING, PONG, CONTINUATION, 3, 11):
        yield handshake() + b"|" + frame(opcode, secret)
    yield handshake() + b"|" + frame(TEXT, secret + b"\xff")
    yield handshake() + b"|" + frame(PING, secret * 10)
    yield handshake() + b"|" + frame(TEXT, secret, is_last=False) + frame(TEXT, secret)
    yield handshake() + b"|" + frame(CLOSE, (4000).to_bytes(2, "big") + secret)
    yield handshake() + b"|" + frame(CLOSE, (999).to_bytes(2, "big") + secret + b"\xff")
    yield handshake() + b"|" + secret


def test_no_log_of_any_level_shows_what_clients_send(server: ServerProcess) -> None:
    for request in requests():
        server.exchange(request)
    for websocket in websockets():
        head, _, frames = websocket.partition(b"|")
        with server.connect() as client:
            client.sendall(head)
            answer = client.recv(65536)
            if answer.startswith(b"HTTP/1.1 101") and frames:
                client.sendall(frames + frame(CLOSE, (1000).to_bytes(2, "big")))
                while client.recv(65536):
                    pass
    until(lambda: server.num_connections == 0)
    assert server.terminate() == 0
    log = server.log.read_text()
    assert log.count('"event":"request"') > 50
    assert SECRET not in log.upper()
