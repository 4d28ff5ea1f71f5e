"""A server with a port and the fake model, in a thread of the test."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from service.server import listening_socket, uvicorn_config
from tests.service.fakes import until

_TICK_SECONDS = 0.005


@dataclass(frozen=True)
class Served:
    app: FastAPI
    port: int
    server: uvicorn.Server

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self.server.servers[0].get_loop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def metrics(self) -> str:
        text: bytes = self.app.state.server.metrics.render()
        return text.decode()

    def count(self, line: str) -> float:
        """The value of a metric that is written as `line`; 0 before it was counted."""
        values = [row.split()[-1] for row in self.metrics().splitlines() if row.startswith(line)]
        return float(values[0]) if values else 0.0


class _Server(uvicorn.Server):
    """One that ends at once: uvicorn looks each tenth of a second whether it should, and waits as
    long for its connections."""

    async def main_loop(self) -> None:
        for counter in itertools.count():
            if await self.on_tick(counter):
                break
            await asyncio.sleep(_TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while state.connections or state.tasks:
                    await asyncio.sleep(_TICK_SECONDS)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


@contextlib.contextmanager
def served(
    app: FastAPI, trusted_proxies: Sequence[str] = (), port: int = 0, host: str = "127.0.0.1"
) -> Iterator[Served]:
    server = _Server(uvicorn_config(app, 2**20, trusted_proxies))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with listening_socket((host, port), family) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            until(lambda: server.started)
            yield Served(app, listener.getsockname()[1], server)
        finally:
            server.should_exit = True
            thread.join(timeout=60)
