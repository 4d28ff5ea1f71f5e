"""A new connection is served like an old one (law 13), counted in turns of the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from service.http.wire import HttpProtocol
from service.server import Server, listening_socket, uvicorn_config

NUM_WAITING = 60


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """An empty answer."""
    assert scope["type"] in ("http", "lifespan")


async def nothing() -> None:
    """There is nothing to drain."""


class Turns:
    """Keeps an event loop busy and counts its turns."""

    def __init__(self) -> None:
        self.number = 0
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self.number += 1
        self._next = self._loop.call_soon(self._turn)

    def stop(self) -> None:
        self._next.cancel()


async def turns_of_newcomers(server: Server, listener: socket.socket) -> list[int]:
    """The turns of a busy loop in which connections are made that came at once."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.001)
    turns, made, had_no_delay = Turns(), list[int](), list[int]()
    plain = HttpProtocol.connection_made

    def note(protocol: HttpProtocol, transport: Any) -> None:
        made.append(turns.number)
        accepted = transport.get_extra_info("socket")
        had_no_delay.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        plain(protocol, transport)

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(HttpProtocol, "connection_made", note)
        for _ in range(NUM_WAITING):  # the system accepts them; the loop has no turn meanwhile
            stack.enter_context(socket.create_connection(listener.getsockname()))
        while len(made) < NUM_WAITING:
            await asyncio.sleep(0)
    turns.stop()
    server.should_exit = True
    await serving
    assert all(had_no_delay)
    return made


def test_a_busy_loop_accepts_all_that_wait_within_three_turns() -> None:
    config = uvicorn_config(app, 2**20)
    config.lifespan = "off"
    with (
        listening_socket(("127.0.0.1", 0)) as listener,
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        made = runner.run(turns_of_newcomers(Server(config, nothing), listener))
    assert made[-1] - made[0] <= 3
