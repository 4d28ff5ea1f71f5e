"""uvicorn, but a signal drains first: new work is refused and running work finished."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from service.http.protocols.http import HttpProtocol
from service.http.protocols.received import ReadBuffer
from service.http.protocols.websocket import WebSocketProtocol
from service.memory import trim_memory
from service.signals import end_at_once

_logger = logging.getLogger(__name__)
_YOUNG_OBJECTS = 10_000
_MIDDLE_PASSES, _OLD_PASSES = 1, 50
"""Python's default of 10 passes over young objects before one over the middle generation lets this
one take 10 ms. The old one is passed over as often as with Python's 10 and 10."""
_ACCEPTED_AT_ONCE = 64
_BACKLOG = 65_535
"""Connections that wait to be accepted; the system's own limit (net.core.somaxconn) is lower.
Beyond it the system drops what clients believe to be connections, and they are reset much later."""
_TICKS_PER_SECOND = 10  # uvicorn's
_TICKS_PER_TRIM = 60 * _TICKS_PER_SECOND
_SHUTDOWN_SECONDS = 5
_ABORT_SECONDS = (
    4  # before that limit: clients are disconnected before the app's tasks are cancelled
)


def uvicorn_config(
    app: ASGIApp,
    max_message_bytes: int,
    http: type[HttpProtocol] = HttpProtocol,
    websocket: type[WebSocketProtocol] = WebSocketProtocol,
    trusted_proxies: Sequence[str] = (),
    connections_per_address: int = 0,
) -> uvicorn.Config:
    """How uvicorn serves the app; the protocols enforce the limits of a connection.

    `trusted_proxies`: addresses and networks whose forwarded headers count and whose connections
    do not; `connections_per_address`: at most so many of each other one, 0 is no limit. uvicorn's
    access log is off because it would contain clients' URLs.
    """
    limits = dataclasses.replace(
        http.limits,
        connections_per_address=connections_per_address,
        proxies=tuple(trusted_proxies),
    )
    return uvicorn.Config(
        app,
        http=type(http.__name__, (http,), {"limits": limits, "read_buffer": ReadBuffer()}),
        ws=websocket,
        log_config=None,
        access_log=False,
        ws_max_size=max_message_bytes,
        ws_per_message_deflate=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        backlog=_BACKLOG,
        timeout_keep_alive=int(http.limits.idle_seconds),
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


class Server(uvicorn.Server):
    """The first SIGTERM, SIGINT or SIGHUP awaits `drain`, then shuts down with exit code 0; the
    second ends the process at once. New connections to `shared`, a socket of a port that other
    servers listen on too, go to these as soon as the draining begins."""

    def __init__(
        self,
        config: uvicorn.Config,
        drain: Callable[[], Awaitable[None]],
        shared: socket.socket | None = None,
    ) -> None:
        super().__init__(config)
        self._drain, self._shared = drain, shared
        self._shared_copies: list[socket.socket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self._num_signals = 0
        self._trimming: asyncio.Future[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """libuv accepts one connection of a socket in each iteration of the event loop, so a busy
        server would let few clients in. It watches copies of each socket."""
        if sockets is not None:
            for socket_ in list(sockets):
                copies = [socket_.dup() for _ in range(_ACCEPTED_AT_ONCE - 1)]
                sockets.extend(copies)
                if socket_ is self._shared:
                    self._shared_copies = [socket_, *copies]
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(log_unforeseen)
        await super().startup(sockets)
        spare_what_stays()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second. Checks the connections' time limits once a second, and trims
        memory once a minute."""
        if counter % _TICKS_PER_TRIM == _TICKS_PER_TRIM - 1:
            self._trimming = asyncio.get_running_loop().run_in_executor(None, trim_memory)
        if counter % _TICKS_PER_SECOND == 0:
            now_seconds = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, HttpProtocol | WebSocketProtocol):
                    connection.check(now_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        aborting = loop.call_later(_ABORT_SECONDS, self._abort_connections)
        await super().shutdown(sockets)
        aborting.cancel()

    def _abort_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGHUP too: the terminal is gone. `nohup` has it ignored, and so it stays."""
        previous = signal.getsignal(signal.SIGHUP)
        with super().capture_signals():
            if previous is signal.SIG_DFL:
                signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, previous)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The signal handler; uvicorn's own only closes the port and raises the signal again."""
        self._num_signals += 1
        if self._loop is None or self._num_signals > 1:
            end_at_once(sig)
        else:
            self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._draining = asyncio.ensure_future(self._drain_and_exit())

    def _leave_shared_port(self) -> None:
        """Listen on it no more. A connection that waits to be accepted just now is reset."""
        names = {copy.getsockname() for copy in self._shared_copies}
        for server in self.servers:
            if any(listener.getsockname() in names for listener in server.sockets):
                server.close()
        for copy in self._shared_copies:
            copy.close()

    async def _drain_and_exit(self) -> None:
        _logger.info("draining: new work is refused, running work is finished")
        try:
            self._leave_shared_port()
        except OSError:
            _logger.exception("the shared port stays open while draining")
        try:
            await self._drain()
        except Exception:
            _logger.exception("draining failed")
        self.should_exit = True


def log_unforeseen(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log without asyncio's message: it shows callback arguments, which hold clients' data."""
    _logger.error("unforeseen error on the event loop", exc_info=context.get("exception"))


def spare_what_stays() -> None:
    """Exclude start-up's objects from garbage collection.

    They live as long as the process, and scanning them stops every thread for about 80 ms.
    Reference counting frees most objects of requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _MIDDLE_PASSES, _OLD_PASSES)
