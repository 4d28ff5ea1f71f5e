"""HTTP/1.1 and websockets as rude clients speak them, to a server process."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from service.app import create_app
from service.http.wire import HttpProtocol
from service.settings import Settings
from tests.fuzz.mutations import mutated
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.clients import error_members
from tests.service.http.wire_client import (
    BINARY,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    ServerProcess,
    answer_of,
    close_code_of,
    exchange,
    frame,
    frames_of,
    handshake,
    head,
    open_websocket,
    read_to_end,
    read_until,
)
from tests.service.served import served

LIVE = b"GET /health/live HTTP/1.1\r\nHost: test\r\n"
POST = b"POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"Connection: close\r\n\r\n"
MILLION = 1_000_000
BODY = b'{"q": "abc", "source": "en", "target": "de"}'
MANY_SMALL_FRAMES = {
    "empty fragments": frame(TEXT, is_last=False) + frame(CONTINUATION, is_last=False) * 200_000,
    "fragments of a byte": frame(TEXT, b"x", is_last=False)
    + frame(CONTINUATION, b"x", is_last=False) * 200_000,
    "pings": frame(PING) * 60_000,
    "pongs": frame(PONG, b"x" * 125) * 60_000,
    "empty messages": frame(TEXT) * 20_000,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("server") / "log")
    yield process
    process.end()


def message(request_id: int = 1) -> bytes:
    fields = {"id": request_id, "q": "x" * 15_000, "source": "en", "target": "de", "beam_size": 1}
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(LIVE + b"a:b\r\n" * MILLION + b"\r\n", id="a million headers"),
        pytest.param(LIVE + b"a:b\r\n" * 100 + b"\r\n", id="101 headers"),
        pytest.param(LIVE + b"a: " + b"x" * 60 * MILLION, id="a value without end"),
        pytest.param(LIVE + b"x" * 20 * MILLION, id="a name without end"),
        pytest.param(b"GET /" + b"x" * 20 * MILLION, id="a URL without end"),
        pytest.param(LIVE + (b"a: " + b"x" * 1000 + b"\r\n") * 40 + b"\r\n", id="40 KB"),
        pytest.param(handshake(*["a: b"] * 200), id="a handshake with 200 headers"),
    ],
)
def test_a_head_over_the_bounds_is_answered_with_431(server: ServerProcess, sent: bytes) -> None:
    status, body = answer_of(server.exchange(sent))
    assert (status, body["code"]) == (431, "head_too_large")
    assert set(body) == {"error", "code", "request_id"}


@pytest.mark.parametrize("url", ["/v2/translate?x=1", "/v1/translate"])
def test_a_refusal_of_a_head_has_the_shape_of_its_api(server: ServerProcess, url: str) -> None:
    status, body = answer_of(server.exchange(head(url, *["a: b"] * 200)))
    assert (status, set(body)) == (431, error_members(url))


def test_a_head_within_the_bounds_is_answered(server: ServerProcess) -> None:
    sent = LIVE + (b"a: " + b"x" * 300 + b"\r\n") * 98 + LAST
    assert len(sent) > 29_000
    assert server.exchange(sent).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"1\r\nx\r\n0\r\n" + b"a:b\r\n" * MILLION + b"\r\n", id="a million trailers"),
        pytest.param(b"1\r\nx\r\n0\r\na: " + b"x" * 20 * MILLION, id="a trailer without end"),
        pytest.param(b"1;" + b"x" * 20 * MILLION, id="a chunk extension without end"),
    ],
)
def test_trailers_without_end_end_the_connection(server: ServerProcess, body: bytes) -> None:
    server.exchange(CHUNKED + body)
    until(lambda: server.num_connections == 0)


def test_a_body_in_small_chunks_is_read_and_its_trailers_become_no_headers(
    server: ServerProcess,
) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
    request = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + chunks
    received = server.exchange(request + b"0\r\nChecksum: 1\r\nSource: me\r\n\r\n")
    assert b'{"translatedText":"ABC"}' in received
    body = b'5\r\n{"q":\r\n1\r\n \r\n0\r\nX-Request-ID: from-a-trailer\r\n\r\n'
    received = server.exchange(CHUNKED + body + LIVE + LAST)
    assert received.count(b"HTTP/1.1 ") == 2
    assert b"from-a-trailer" not in received


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(POST + b"Transfer-Encoding: gzip\r\n\r\n", id="an unknown transfer coding"),
        pytest.param(CHUNKED + b"1\r\nx\r\nno size\r\n", id="a malformed chunk"),
    ],
)
def test_what_is_not_http_is_answered_with_400_as_json(server: ServerProcess, sent: bytes) -> None:
    status, body = answer_of(server.exchange(sent))
    assert (status, body["code"]) == (400, "invalid_http")


PATHS = [b"/", b"/health/live", b"/v2/languages", b"/nowhere", b"", b"*", b"?a=b", b"/a b"]
HOSTS = [b"host", b"host:443", b"[::1]", b"[::1]:8", b"u:p@host", b"", b":", b"[::1", b"a:99999"]
SCHEMES = [b"", b"http://", b"https://", b"HTTP://", b"ftp://", b"//", b"http:", b"://"]
METHODS = [b"GET", b"POST", b"HEAD", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI", b"get", b""]
VERSIONS = [b" HTTP/1.1", b" HTTP/1.0", b" HTTP/2.0", b" HTTP/9", b""]


def test_no_request_line_is_answered_with_5xx_or_logged_as_an_error(server: ServerProcess) -> None:
    """Of all targets that the parser lets through, and of damaged ones."""
    rng = random.Random(1)
    targets = [scheme + host + path for scheme in SCHEMES for host in HOSTS for path in PATHS]
    for target in targets + [mutated(rng.choice(targets), rng) for _ in range(300)]:
        line = rng.choice(METHODS) + b" " + target + rng.choice(VERSIONS)
        received = server.exchange(line + b"\r\nHost: test\r\n" + LAST)
        statuses = {int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", received)}
        assert statuses <= {200, *range(400, 500)}, (line, received[:200])
        assert len(received) < 4000 or statuses == {200}, line
    assert not server.errors()


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("http://one.test", b"one.test"),
        ("http://one.test?a=b", b"one.test"),
        ("https://one.test:8/health/live?", b"one.test:8"),
        ("HTTP://[::1]:8/", b"[::1]:8"),
        ("/health/live", b"test"),
    ],
)
def test_an_absolute_target_names_path_and_host(target: str, host: bytes) -> None:
    """As RFC 9112 has it, 3.2.2."""
    asked = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            asked.append((scope["path"], dict(scope["headers"])[b"host"]))
            await PlainTextResponse("")(scope, receive, send)

    with served(app) as own, own.connect() as client:
        client.sendall(head(target, "Connection: close", method="GET"))
        assert read_to_end(client).startswith(b"HTTP/1.1 200")
    assert asked == [("/health/live" if "health" in target else "/", host)]


@pytest.mark.parametrize("num_answered", [0, 90])
def test_nothing_is_read_behind_a_request_that_waits(num_answered: int) -> None:
    """Its body would take memory that no bound counts: only what the event loop read at once with
    its head is kept."""
    runner = FakeRunner()
    runner.gate.clear()
    slow = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    sent = (LIVE + b"\r\n") * num_answered + slow + POST + b"Content-Length: 99999999\r\n\r\n"
    with served(create_app(Settings(), [fake_model(runner)])) as own, own.connect() as client:
        sending = threading.Thread(target=exchange, args=(client, sent + b" " * 20 * MILLION))
        sending.start()
        until(runner.is_stepping.is_set)
        (connection,) = own.server.server_state.connections
        assert isinstance(connection, HttpProtocol)
        until(lambda: len(connection.pipeline) == 1)
        until(lambda: connection.flow.read_paused)
        held = [len(cycle.body) for cycle, _ in connection.pipeline]
        assert sum(held) <= 256 * 1024
        client.shutdown(socket.SHUT_RDWR)
        runner.gate.set()
        sending.join()


@pytest.mark.parametrize("num_bytes", [1, 50, MILLION])
def test_who_asks_for_another_protocol_gets_an_answer_in_this_one(
    server: ServerProcess, num_bytes: int
) -> None:
    """However the bytes come, with any body, and behind other requests."""
    asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    sized = b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    sent = LIVE + asked + b"\r\n" + POST + asked + sized + POST + asked + chunked + LIVE + LAST
    with server.connect() as client:
        for first in range(0, len(sent), num_bytes):
            client.sendall(sent[first : first + num_bytes])
        received = read_to_end(client)
    assert received.count(b"HTTP/1.1 200") == 4
    assert received.count(b'{"translatedText":"ABC"}') == 2


@pytest.mark.parametrize("begun", [b"", LIVE + b"\r\n"])
@pytest.mark.parametrize("rest", [b"", LIVE * 10, b"\r\n" * 1000])
def test_a_connection_without_a_whole_head_ends(begun: bytes, rest: bytes) -> None:
    """Whether its client is silent or sends a byte now and then."""
    with served(create_app(Settings(), [fake_model(FakeRunner())])) as own:
        own.server.config.timeout_keep_alive = 1
        with own.connect() as client:
            client.sendall(begun)
            with contextlib.suppress(OSError):
                for byte in rest:
                    client.sendall(bytes([byte]))
                    time.sleep(0.02)
            assert read_to_end(client).count(b"HTTP/1.1 200") == begun.count(b"HTTP/1.1")
        until(lambda: not own.server.server_state.connections)


def test_a_connection_with_a_request_does_not_end() -> None:
    """While its body comes, while it is answered, and while others wait behind it."""
    runner = FakeRunner()
    runner.gate.clear()
    length = b"Content-Length: %d\r\n\r\n" % len(BODY)
    with served(create_app(Settings(), [fake_model(runner)])) as own, own.connect() as client:
        client.sendall(LIVE + b"\r\n")
        read_until(client, b"HTTP/1.1 200")
        (connection,) = own.server.server_state.connections
        assert isinstance(connection, HttpProtocol)
        for sent in (POST + length, BODY, POST + length + BODY):
            client.sendall(sent)
            until(lambda: connection.timeout_keep_alive_task is None)
        until(runner.is_stepping.is_set)
        assert connection.timeout_keep_alive_task is None
        runner.gate.set()


def test_what_is_wrong_behind_a_request_is_not_taken_for_its_answer(server: ServerProcess) -> None:
    request = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    received = server.exchange(request + b"\x00\x01\x02 nonsense\r\n\r\n")
    assert not received.startswith(b"HTTP/1.1 400")


def test_pipelined_requests_are_answered_and_thousands_end_the_connection(
    server: ServerProcess,
) -> None:
    received = server.exchange((LIVE + b"\r\n") * 49 + LIVE + LAST)
    assert received.count(b"HTTP/1.1 200") == 50
    received = server.exchange((LIVE + b"\r\n") * 5000)
    assert received.count(b"HTTP/1.1 ") < 5000
    assert server.get("/health/live").status_code == 200


def test_compression_is_not_negotiated_and_compressed_frames_are_refused(
    server: ServerProcess,
) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -12)
    data = compressor.compress(b" " * 10**6) + compressor.flush(zlib.Z_SYNC_FLUSH)
    compressed = bytearray(frame(TEXT, data[:-4]))
    compressed[0] |= 0x40
    with server.connect() as client:
        answer = open_websocket(client, "Sec-WebSocket-Extensions: permessage-deflate")
        assert b"extensions" not in answer.lower()
        assert close_code_of(exchange(client, bytes(compressed) * 2000)) == 1002


@pytest.mark.parametrize("frames", MANY_SMALL_FRAMES.values(), ids=MANY_SMALL_FRAMES)
def test_frames_that_carry_next_to_nothing_end_the_connection_readably(
    server: ServerProcess, frames: bytes
) -> None:
    with server.connect() as client:
        open_websocket(client)
        assert close_code_of(exchange(client, frames)) == 1008


def test_an_ordinary_message_in_fragments_with_pings_between_is_answered(
    server: ServerProcess,
) -> None:
    text = message()
    pieces = [text[i : i + 256] for i in range(0, len(text), 256)]
    with server.connect() as client:
        open_websocket(client)
        for place, piece in enumerate(pieces):
            opcode = CONTINUATION if place else TEXT
            client.sendall(frame(opcode, piece, is_last=place == len(pieces) - 1))
            if place % 10 == 0:
                client.sendall(frame(PING, b"%d" % place))
        client.sendall(frame(TEXT, b"{}"))
        received = read_until(client, b'"type":"final"')
    pongs = [data for opcode, data in frames_of(received) if opcode == PONG]
    assert pongs == [b"%d" % place for place in range(0, len(pieces), 10)]


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ([], "/translate/stream?q=" + "x" * 10_000, 414),
        (["a: " + "x" * 10_000], "/translate/stream", 431),
        (["Content-Length: 5"], "/translate/stream", 400),
        (["Sec-WebSocket-Key: again"], "/translate/stream", 400),
        (["Origin: https://foreign.example"], "/translate/stream", 403),
        ([], "/nowhere", 404),
    ],
)
def test_a_handshake_that_fails_is_answered_and_its_connection_closed(
    server: ServerProcess, headers: list[str], path: str, status: int
) -> None:
    received = server.exchange(handshake(*headers, path=path))
    assert received.startswith(b"HTTP/1.1 %d" % status)
    assert received.count(b"HTTP/1.1") == 1
    until(lambda: server.num_connections == 0)
    assert not server.errors()


def test_a_text_that_is_not_utf_8_and_a_message_over_the_limit_close_with_their_codes(
    server: ServerProcess,
) -> None:
    for data, code in ((frame(TEXT, b"\xff\xfe"), 1007), (frame(BINARY, b"x" * 2**22), 1009)):
        with server.connect() as client:
            open_websocket(client)
            assert close_code_of(exchange(client, data * 3)) == code
    assert not server.errors()


def test_a_server_with_clients_that_neither_read_nor_send_ends(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "log")
    body = message()
    size = b"Content-Length: %d\r\n\r\n" % len(body)
    with (
        server.connect(receive_buffer_bytes=2048) as blocked,
        server.connect(receive_buffer_bytes=2048) as events,
        server.connect(receive_buffer_bytes=2048) as pages,
        server.connect() as half,
        server.connect() as idle,
    ):
        pages.sendall(head("/openapi.json", method="GET") * 90)
        open_websocket(blocked)
        for number in range(10):
            blocked.sendall(frame(TEXT, message(number)))
        events.sendall(POST + b"Accept: text/event-stream\r\n" + size + body)
        half.sendall(POST + size + body[:10])
        open_websocket(idle)
        until(lambda: "dragoman_open_streams 2.0" in server.get("/metrics").text)
        until(lambda: 'dragoman_running{model="fake"} 0.0' in server.get("/metrics").text)
        assert server.terminate() == 0
        assert close_code_of(read_to_end(idle)) == 1012
    assert not server.errors()


@pytest.mark.parametrize(
    ("path", "content_type", "member"),
    [
        ("/translate", "application/json", "error"),
        ("/translate_file", "multipart/form-data; boundary=b", "error"),
        ("/v2/document", "multipart/form-data; boundary=b", "message"),
    ],
)
def test_who_still_sends_a_body_when_the_draining_is_over_is_told_so(
    tmp_path: Path, path: str, content_type: str, member: str
) -> None:
    server = ServerProcess(tmp_path / "log")
    with server.connect() as half:
        half.sendall(head(path, f"Content-Type: {content_type}", "Content-Length: 99") + b"--b")
        server.get("/health/live")  # the head is read
        assert server.terminate() == 0
        received = read_to_end(half)
    status, answer = answer_of(received)
    assert (status, "about to stop" in answer[member]) == (503, True)
    assert b"\r\nretry-after: " in received.lower()
    assert not server.errors()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", BODY),
        (
            "/v1/chat/completions",
            b'{"model": "en-de", "stream": true, "messages": [{"role": "user", "content": "abc"}]}',
        ),
    ],
)
def test_a_stream_by_http_1_0_has_no_chunks_and_ends_with_the_connection(
    server: ServerProcess, path: str, body: bytes
) -> None:
    start = f"POST {path} HTTP/1.0\r\nContent-Type: application/json\r\n".encode()
    events = b"Accept: text/event-stream\r\nConnection: keep-alive\r\n"
    with server.connect() as client:
        client.sendall(start + events + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        received = read_to_end(client)
    told, _, content = received.partition(b"\r\n\r\n")
    assert b"chunked" not in told.lower()
    assert b"connection: close" in told.lower()
    assert content.startswith((b"event: ", b"data: "))
    assert content.endswith(b"\n\n")
    assert b"ABC" in content


def test_what_never_was_a_request_is_counted_and_logged(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path / "log")
    for sent in (b"nonsense\r\n\r\n", LIVE + b"a:b\r\n" * 101 + b"\r\n"):
        with process.connect() as client:
            exchange(client, sent)
    with process.connect() as client:
        counts = exchange(client, b"GET /metrics HTTP/1.1\r\nHost: test\r\n" + LAST).decode()
    process.end()
    requests = re.findall(r'dragoman_requests_total{endpoint="[^"]+",outcome="(\w+)"} (.+)', counts)
    assert {("client_error", "1.0"), ("rejected", "1.0")} <= {*requests}
    assert 'dragoman_rejected_total{reason="head_too_large"} 1.0' in counts
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {400, 431} <= {line.get("status") for line in logged if line["event"] == "request"}


@pytest.mark.parametrize(
    ("path", "header", "told"),
    [
        ("/translate", None, b"404"),
        ("/nowhere", None, b"404"),
        ("/translate/stream", b"Sec-WebSocket-Version: 12", b"Sec-WebSocket-Version: 13"),
    ],
)
def test_a_handshake_that_leads_nowhere_says_why(
    server: ServerProcess, path: str, header: bytes | None, told: bytes
) -> None:
    sent = handshake(path=path)
    if header is not None:
        sent = re.sub(rb"Sec-WebSocket-Version: \d+", header, sent)
    with server.connect() as client:
        received = exchange(client, sent)
    start, _, body = received.partition(b"\r\n\r\n")
    assert told in start
    if header is None:
        assert json.loads(body)["code"] == "not_found"
        assert b"x-request-id" in start.lower()
        assert b"x-frame-options" in start.lower()
