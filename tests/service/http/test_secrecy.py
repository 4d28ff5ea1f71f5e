"""Whatever a client sends and wherever, the log does not show it; and neither keys nor addresses
appear in anything that the server writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import until
from tests.service.http.access.conftest import DEEPL, WAYS
from tests.service.http.clients import STREAM
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
    head,
)

SECRET = "SESAME" * 3
FIELDS = {"q": SECRET, "source": "en", "target": "de"}
PLACES = ("q", "source", "target", "format", "model", "target_prefix", "beam_size", "nonsense")
ADDRESSES = ("198.51.100.77", "2001:db8:77:88::99")


def post(body: bytes, media_type: str, *headers: str, query: str = "") -> bytes:
    size = f"Content-Length: {len(body)}"
    own = f"Content-Type: {media_type}", size, "Connection: close"
    return head(f"/translate{query}", *own, *headers) + body


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
    yield post(f"--B\r\n{SECRET}\xff\r\n".encode("latin-1"), "multipart/form-data; boundary=B")
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


def websockets() -> Iterator[tuple[bytes, bytes]]:
    """Handshakes, and what is sent after them."""
    for path in (f"/{SECRET}?q={SECRET}", f"{STREAM}?q={SECRET}", f"{STREAM}?q={SECRET * 1000}"):
        yield handshake(path=path), b""
    yield handshake(f"{SECRET}: {SECRET}", f"Sec-WebSocket-Protocol: {SECRET}"), b""
    yield handshake(f"Sec-WebSocket-Extensions: {SECRET}; {SECRET}={SECRET}"), b""
    yield handshake(f"a: {SECRET}\xe9"), b""
    yield handshake(f"Sec-WebSocket-Key: {SECRET}"), b""
    secret = SECRET.encode()
    messages = [json.dumps({"id": SECRET, **FIELDS, place: SECRET}) for place in PLACES]
    messages += [json.dumps({"id": SECRET, "cancel": True}), SECRET, f'{{"{SECRET}": 1}}']
    for message in messages:
        yield handshake(), frame(TEXT, message.encode())
    for opcode in (BINARY, PING, PONG, CONTINUATION, 3, 11):
        yield handshake(), frame(opcode, secret)
    yield handshake(), frame(TEXT, secret + b"\xff")
    yield handshake(), frame(PING, secret * 10)
    yield handshake(), frame(TEXT, secret, is_last=False) + frame(TEXT, secret)
    yield handshake(), frame(CLOSE, (4000).to_bytes(2, "big") + secret)
    yield handshake(), frame(CLOSE, (999).to_bytes(2, "big") + secret + b"\xff")
    yield handshake(), secret


def test_no_log_of_any_level_shows_what_clients_send(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "log", is_debugged=True)
    for request in requests():
        server.exchange(request)
    for opening, frames in websockets():
        with server.connect() as client:
            client.sendall(opening)
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


def test_keys_and_addresses_are_in_no_log_metric_answer_or_file(tmp_path: Path) -> None:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        valid, _ = store.create(KeyOptions(requests_per_minute=30, characters_per_month=20))
    wrong = valid[:-8] + "deadbeef"
    server = ServerProcess(
        tmp_path / "log",
        is_debugged=True,
        database=str(tmp_path / "server.db"),
        api_keys="required",
        trusted_proxies="127.0.0.1",
        requests_per_minute=40,
    )
    written = [*with_key(server, valid), *with_key(server, wrong)]
    written.append(server.get("/metrics").text)
    assert server.terminate() == 0
    log = server.log.read_text()
    assert log.count('"event":"request"') > 40
    refusals = "".join(written)
    for code in ("invalid_key", "quota_exceeded", "too_many_requests"):
        assert code in refusals
    database = b"".join(path.read_bytes() for path in tmp_path.glob("server.db*"))
    for secret in (valid, wrong, valid[-48:], wrong[-48:], *ADDRESSES):
        assert secret not in log
        assert secret not in refusals
        assert secret.encode() not in database


def requests_with(key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths, and for httpx what is posted there: the key in every place, right ones and wrong."""
    for number, way in enumerate(WAYS.values()):
        path, given = way(key)
        own = {"X-Forwarded-For": ADDRESSES[number % 2], **traced(key)}
        yield path, {**given, "headers": {**given.get("headers", {}), **own}}
    for name in ("api_key", "auth_key", "secret"):
        wrong = ({name: [key]}, {name: {"key": key}}, {name: key * 9}, {name: key, "q": 5})
        for fields in wrong:
            yield "/translate", {"json": {**FIELDS, **fields}}
            yield "/v2/translate", {"json": {**DEEPL, **fields}}


def traced(key: str) -> dict[str, str]:
    return {"X-Request-ID": f"job-{key}", "traceparent": key}


def with_key(server: ServerProcess, key: str) -> list[str]:
    """What is answered to requests with the key; many at a time, because refusals are slow."""
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(16) as threads:
        asked = [
            threads.submit(client.post, server.url + path, **given)
            for path, given in requests_with(key)
        ]
        texts = [f"{one.result().headers}{one.result().text}" for one in asked]
    url = server.url.replace("http", "ws") + STREAM
    for address, message in ((f"{url}?api_key={key}", {}), (url, {"api_key": key})):
        try:
            with connect(address, additional_headers=traced(key)) as socket:
                socket.send(json.dumps({"id": 1, **FIELDS, **message}))
                texts.append(str(socket.recv()))
        except InvalidStatus as refused:
            texts.append(str(refused.response.body))
    return texts
