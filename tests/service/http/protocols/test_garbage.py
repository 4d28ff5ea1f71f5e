"""Connections leave nothing to the garbage collector, which comes after thousands of them."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from tests.service.fakes import until
from tests.service.http.protocols.wire import TEXT, ServerProcess, frame, open_websocket, read_until

POST = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
BODY = b'{"q": "abc", "source": "en", "target": "zh"}'
WHOLE = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
EVENTS = WHOLE.replace(b"Host", b"Accept: text/event-stream\r\nHost")
NUM_CONNECTIONS = 40


def silent(_: socket.socket) -> None: ...


def answered(client: socket.socket) -> None:
    client.sendall(WHOLE)
    read_until(client, b"}")


def refused(client: socket.socket) -> None:
    client.sendall(WHOLE.replace(b"zh", b"xx"))
    read_until(client, b"}")


def over_long(client: socket.socket) -> None:
    client.sendall(POST + b"Content-Length: 99999999\r\n\r\n{")
    read_until(client, b"}")


def streamed(client: socket.socket) -> None:
    client.sendall(EVENTS)
    read_until(client, b"data:")


def leaving(client: socket.socket) -> None:
    client.sendall(WHOLE[:-4])


def pipelined(client: socket.socket) -> None:
    client.sendall(WHOLE * 20)


def not_http(client: socket.socket) -> None:
    client.sendall(b"\0" * 100)
    client.recv(1000)


def over_websocket(client: socket.socket) -> None:
    open_websocket(client)
    client.sendall(frame(TEXT, b'{"id": "1", "q": "abc", "source": "en", "target": "zh"}'))
    read_until(client, b"}")


@pytest.mark.parametrize(
    "visit",
    [
        silent,
        answered,
        refused,
        over_long,
        streamed,
        leaving,
        pipelined,
        not_http,
        over_websocket,
    ],
)
def test_what_a_connection_used_is_free_when_it_ends(
    server: ServerProcess, visit: Callable[[socket.socket], None]
) -> None:
    visit_often(server, visit)  # the first one fills caches
    server.get("/garbage")
    visit_often(server, visit)
    garbage = server.get("/garbage").json()
    assert sum(garbage.values()) < NUM_CONNECTIONS, garbage


def visit_often(server: ServerProcess, visit: Callable[[socket.socket], None]) -> None:
    for _ in range(NUM_CONNECTIONS):
        with server.connect() as client:
            visit(client)
    until(lambda: server.num_connections == 0)
