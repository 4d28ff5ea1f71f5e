"""Bodies that arrive at the same time share a budget."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.errors import Overloaded
from service.http.bodies import BodyBudget
from tests.service.fakes import until
from tests.service.http.wire_client import ServerProcess, answer_of, read_to_end

BUDGET_BYTES, BODY_BYTES = 50_000, 20_000
HEAD = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
BODY = b'{"q": "abc", "source": "en", "target": "zh"}'.ljust(BODY_BYTES)
SIZED = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % BODY_BYTES
CHUNKED = HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    settings = {"max_bodies_bytes": BUDGET_BYTES, "max_body_bytes": BUDGET_BYTES}
    process = ServerProcess(tmp_path / "log", settings=settings)
    yield process
    process.end()


def test_the_only_body_has_room_and_what_is_held_is_given_back() -> None:
    budget = BodyBudget(100)
    with budget.hold(1000), pytest.raises(Overloaded, match="1000 bytes"), budget.hold(1):
        pass
    with contextlib.suppress(KeyError), budget.hold(60):
        raise KeyError
    with budget.hold(60), budget.hold(40), budget.hold(0):
        pass


def test_a_body_that_finds_no_room_is_refused_until_another_has_come(server: ServerProcess) -> None:
    with server.connect() as first, server.connect() as second:
        for client in (first, second):
            client.sendall(SIZED + BODY[:-1])
        refused = until_refused(server)
        assert refused["code"] == "overloaded"
        for client in (first, second):
            client.sendall(BODY[-1:])
            assert answer_of(read_to_end(client))[0] == 200
    assert answer_of(server.exchange(SIZED + BODY))[0] == 200


def test_a_client_that_leaves_gives_its_room_back(server: ServerProcess) -> None:
    with server.connect() as first, server.connect() as second:
        for client in (first, second):
            client.sendall(SIZED + BODY[:-1])
        until_refused(server)
        first.close()
        until(lambda: answer_of(server.exchange(SIZED + BODY))[0] == 200)


def test_a_body_of_unknown_length_counts_as_the_longest(server: ServerProcess) -> None:
    with server.connect() as client:
        client.sendall(CHUNKED + b"5\r\n     \r\n")
        until_refused(server)
        finish_chunks(client)
        assert answer_of(read_to_end(client))[0] == 200


def finish_chunks(client: socket.socket) -> None:
    text = BODY.strip()
    client.sendall(b"%x\r\n" % len(text) + text + b"\r\n0\r\n\r\n")


def until_refused(server: ServerProcess) -> dict[str, object]:
    """Send bodies until one finds no room -> its error."""
    answers: list[tuple[int, dict[str, object]]] = []

    def is_refused() -> bool:
        answers.append(answer_of(server.exchange(SIZED + BODY)))
        return answers[-1][0] == 503

    until(is_refused)
    return answers[-1][1]
