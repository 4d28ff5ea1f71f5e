"""A new connection is served like an old one (law 13), counted in iterations of the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from service.commands.serve import _bind
from service.http.wire import HttpProtocol
from service.server import Server, listening_socket, uvicorn_config
from tests.service.fakes import until
from tests.service.http.wire_client import ServerProcess

NUM_WAITING = 60


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """An empty answer."""
    assert scope["type"] in ("http", "lifespan")


async def nothing() -> None:
    """There is nothing to drain."""


class BusyLoop:
    """Keeps the running event loop busy and counts its iterations."""

    def __init__(self) -> None:
        self.number = 0
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_soon(self._iterate)

    def _iterate(self) -> None:
        self.number += 1
        self._next = self._loop.call_soon(self._iterate)

    def stop(self) -> None:
        self._next.cancel()


async def iterations_of_new_connections(server: Server, listener: socket.socket) -> list[int]:
    """The iterations of a busy loop in which connections are made that came at once."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.001)
    busy, made, had_no_delay = BusyLoop(), list[int](), list[int]()
    plain = HttpProtocol.connection_made

    def note(protocol: HttpProtocol, transport: Any) -> None:
        made.append(busy.number)
        accepted = transport.get_extra_info("socket")
        had_no_delay.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        plain(protocol, transport)

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(HttpProtocol, "connection_made", note)
        for _ in range(NUM_WAITING):  # the system accepts them; the loop does not run meanwhile
            stack.enter_context(socket.create_connection(listener.getsockname()))
        while len(made) < NUM_WAITING:
            await asyncio.sleep(0)
    busy.stop()
    server.should_exit = True
    await serving
    assert all(had_no_delay)
    return made


def test_a_busy_loop_accepts_all_that_wait_within_three_iterations() -> None:
    config = uvicorn_config(app, 2**20)
    config.lifespan = "off"
    with (
        listening_socket(("127.0.0.1", 0)) as listener,
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        made = runner.run(iterations_of_new_connections(Server(config, nothing), listener))
    assert made[-1] - made[0] <= 3


def test_the_port_of_the_command_asks_for_no_delay() -> None:
    with _bind("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_while_no_descriptor_is_left_kept_connections_are_served_and_new_ones_wait(
    tmp_path: Path,
) -> None:
    """One line in the log tells it, however often it is tried."""
    server = ServerProcess(tmp_path / "log")
    process = psutil.Process(server.pid)
    with contextlib.ExitStack() as stack:
        stack.callback(server.end)
        kept = stack.enter_context(httpx.Client(base_url=server.url, timeout=10))
        assert kept.get("/health/live").status_code == 200
        most = process.num_fds() + 40
        process.rlimit(psutil.RLIMIT_NOFILE, (most, most))
        with contextlib.ExitStack() as others:
            for _ in range(70):
                others.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            until(lambda: process.num_fds() == most)
            ends = time.monotonic() + 2.5
            while time.monotonic() < ends:  # it is tried once a second
                assert kept.get("/health/live").status_code == 200
        assert server.get("/health/live").status_code == 200
        assert server.terminate() == 0
    assert [error["event"] for error in server.errors()] == [
        "new connections wait: Too many open files"
    ]
