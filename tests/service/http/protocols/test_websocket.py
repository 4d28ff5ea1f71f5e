"""Websockets as a rude client speaks them, to a server process."""

from __future__ import annotations

import json
import threading
import zlib

import pytest

from tests.service.fakes import until
from tests.service.http.protocols.wire import (
    BINARY,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    ServerProcess,
    close_code_of,
    exchange,
    frame,
    frames_of,
    handshake,
    open_websocket,
    read_to_end,
    read_until,
)

MOST_CPU_SECONDS = 0.05
REQUEST = {"id": 1, "q": "abc", "source": "en", "target": "de", "beam_size": 1}


def request(**fields: object) -> bytes:
    return json.dumps({**REQUEST, **fields}).encode()


def test_compression_is_not_negotiated_and_compressed_frames_are_refused(
    server: ServerProcess,
) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -12)
    data = compressor.compress(b" " * 10**6) + compressor.flush(zlib.Z_SYNC_FLUSH)
    compressed = bytearray(frame(TEXT, data[:-4]))
    compressed[0] |= 0x40
    with server.connect() as client:
        answer = open_websocket(client, "Sec-WebSocket-Extensions: permessage-deflate")
        assert b"permessage-deflate" not in answer
        assert b"extensions" not in answer.lower()
        assert close_code_of(exchange(client, bytes(compressed) * 2000)) == 1002


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(
            frame(TEXT, is_last=False) + frame(CONTINUATION, is_last=False) * 200_000,
            id="empty fragments",
        ),
        pytest.param(
            frame(TEXT, b"x", is_last=False) + frame(CONTINUATION, b"x", is_last=False) * 200_000,
            id="fragments of a byte",
        ),
        pytest.param(frame(PING) * 60_000, id="pings"),
        pytest.param(frame(PONG, b"x" * 125) * 60_000, id="pongs"),
        pytest.param(
            frame(TEXT, b"x", is_last=False)
            + (frame(CONTINUATION, b"x", is_last=False) + frame(PING)) * 60_000,
            id="fragments and pings",
        ),
    ],
)
def test_frames_that_carry_next_to_nothing_end_the_connection_and_block_nobody(
    server: ServerProcess, frames: bytes
) -> None:
    with server.connect() as client:
        open_websocket(client)
        server.longest_turn_seconds()
        assert close_code_of(exchange(client, frames)) == 1008
    assert server.longest_turn_seconds() < MOST_CPU_SECONDS


def test_an_ordinary_message_in_fragments_with_pings_between_is_answered(
    server: ServerProcess,
) -> None:
    text = request(q="x" * 15_000)
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


def test_thousands_of_tiny_messages_are_all_answered_and_block_nobody(
    server: ServerProcess,
) -> None:
    with server.connect() as client:
        open_websocket(client)
        server.longest_turn_seconds()
        sending = threading.Thread(target=client.sendall, args=(frame(TEXT) * 5000,))
        sending.start()
        read_until(client, b"invalid_json", 5000)
        sending.join()
    assert server.longest_turn_seconds() < MOST_CPU_SECONDS


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ([], "/translate/stream?q=" + "x" * 10_000, 414),
        ([], "/translate/stream?q=" + "x" * 40_000, 431),
        (["a: b"] * 200, "/translate/stream", 431),
        (["a: " + "x" * 10_000], "/translate/stream", 431),
        (["a: \xe9"], "/translate/stream", 400),
        (["Content-Length: 5"], "/translate/stream", 400),
        (["Sec-WebSocket-Key: again"], "/translate/stream", 400),
        ([], "/nowhere", 403),
    ],
)
def test_a_handshake_that_fails_is_answered_and_its_connection_closed(
    server: ServerProcess, headers: list[str], path: str, status: int
) -> None:
    received = server.exchange(handshake(*headers, path=path))
    assert received.startswith(b"HTTP/1.1 %d" % status)
    assert received.count(b"HTTP/1.1") == 1
    until(lambda: server.num_connections == 0)


def test_a_text_that_is_not_utf_8_and_a_message_over_the_limit_close_with_their_codes(
    server: ServerProcess,
) -> None:
    num_errors = len(server.errors())
    for data, code in ((frame(TEXT, b"\xff\xfe"), 1007), (frame(BINARY, b"x" * 2**22), 1009)):
        with server.connect() as client:
            open_websocket(client)
            assert close_code_of(exchange(client, data * 3)) == code
    assert len(server.errors()) == num_errors


def test_a_websocket_that_is_not_read_is_ended(impatient: ServerProcess) -> None:
    until(lambda: impatient.num_connections == 0)
    with impatient.connect(receive_buffer_bytes=2048) as client:
        open_websocket(client)
        for number in range(10):
            client.sendall(frame(TEXT, request(id=number, q="x" * 15_000)))
        until(lambda: impatient.num_connections == 1)
        until(lambda: impatient.num_connections == 0)
    until(lambda: "dragoman_open_streams 0.0" in impatient.get("/metrics").text)


def test_closed_by_its_client_with_any_code_a_websockets_work_ends(
    slow: ServerProcess,
) -> None:
    with slow.connect() as client:
        open_websocket(client)
        client.sendall(frame(TEXT, request(q="x" * 30)))
        until(lambda: 'dragoman_running{model="fake"} 1.0' in slow.get("/metrics").text)
        assert close_code_of(exchange(client, frame(8, (1012).to_bytes(2, "big")))) == 1012
        until(lambda: "dragoman_open_streams 0.0" in slow.get("/metrics").text)
        until(lambda: 'dragoman_running{model="fake"} 0.0' in slow.get("/metrics").text)
    cancelled = 'finish_reason="cancelled",model="fake"} 1.0'
    assert cancelled in slow.get("/metrics").text


def test_a_shutdown_with_clients_that_neither_read_nor_send_cancels_no_task(
    stubborn: ServerProcess,
) -> None:
    body = request(q="x" * 15_000)
    head = b"POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
    size = b"Content-Length: %d\r\n\r\n" % len(body)
    with (
        stubborn.connect(receive_buffer_bytes=2048) as blocked,
        stubborn.connect(receive_buffer_bytes=2048) as events,
        stubborn.connect() as pivot,
        stubborn.connect() as idle,
    ):
        open_websocket(blocked)
        for number in range(10):
            blocked.sendall(frame(TEXT, request(id=number, q="x" * 15_000)))
        events.sendall(head + b"Accept: text/event-stream\r\n" + size + body)
        pivot.sendall(head + size + body[:10])
        open_websocket(idle)
        until(lambda: "dragoman_open_streams 2.0" in stubborn.get("/metrics").text)
        until(lambda: 'dragoman_running{model="fake"} 0.0' in stubborn.get("/metrics").text)
        assert stubborn.terminate() == 0
        assert close_code_of(read_to_end(idle)) == 1012
    raised = [e["exception"][0]["exc_type"] for e in stubborn.errors() if "exception" in e]
    assert "CancelledError" not in raised
