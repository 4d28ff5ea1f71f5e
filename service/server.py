"""uvicorn, but a signal drains first: new work is refused and running work finished."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from service.exhaustion import EXHAUSTED
from service.http.wire import HttpProtocol, WebSocketProtocol
from service.signals import end_at_once

_logger = logging.getLogger(__name__)
_IDLE_SECONDS = 75  # longer than the 60 s of load balancers
_SHUTDOWN_SECONDS = 5
_LAST_ANSWERS_SECONDS = 0.1
_ACCEPTED_AT_ONCE = 64
"""Connections that the event loop accepts in one iteration. asyncio tries as often while no file
descriptor is left, too."""
_BACKLOG = 2048
"""Connections that may wait to be accepted."""
_COMPLAINT_SECONDS = 10


def uvicorn_config(
    app: ASGIApp, max_message_bytes: int, trusted_proxies: Sequence[str] = ()
) -> uvicorn.Config:
    """How uvicorn serves the app. `trusted_proxies`: addresses and networks whose forwarded headers
    count.

    Below errors uvicorn logs URLs and what clients send. A busy app reads a pong late, so that a
    late one does not end a connection. uvloop accepts one connection in an iteration of the event
    loop, so that busy connections shut new ones out for seconds.
    """
    return uvicorn.Config(
        app,
        loop="asyncio",
        backlog=_ACCEPTED_AT_ONCE,
        http=HttpProtocol,
        ws=WebSocketProtocol,
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        ws_max_size=max_message_bytes,
        ws_per_message_deflate=False,
        ws_ping_timeout=None,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


def listening_socket(
    address: tuple[Any, ...], family: int = socket.AF_INET, *, is_shared: bool = False
) -> socket.socket:
    """A socket that listens on an address, as of `bound_socket`."""
    listener = bound_socket(address, family, is_shared=is_shared)
    try:
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def bound_socket(
    address: tuple[Any, ...], family: int = socket.AF_INET, *, is_shared: bool = False
) -> socket.socket:
    """A socket on which a server will listen; `is_shared`: others may listen there too, and have
    all connections until then. `::` takes IPv4 too.

    Its connections inherit TCP_NODELAY, which asyncio sets only if a socket names its protocol:
    without it an answer waits 40 ms. Raises OSError and ValueError.
    """
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
        if is_shared:
            bound.setsockopt(socket.SOL_SOCKET, _reuse_port(), True)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address[0] != "::")
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound


def _reuse_port() -> int:
    """The system's option. Raises ValueError if it has none."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ValueError("this system cannot share ports")
    return socket.SO_REUSEPORT


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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self.has_signals = True
        """Whether signals reach this process; else its parent lets it call `begin_drain`."""
        self.tell_started: Callable[[], None] = lambda: None
        """Called once everything of the app has started and the server takes connections."""
        self._num_signals = 0
        self._next_complaint = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._log_unforeseen)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)
        self.tell_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGHUP too: the terminal is gone. `nohup` has it ignored, and so it stays."""
        if not self.has_signals:
            yield
            return
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
            self._loop.call_soon_threadsafe(self.begin_drain)

    def begin_drain(self) -> None:
        """Drain, then end. Runs on the event loop."""
        self._draining = asyncio.ensure_future(self._drain_and_exit())

    async def _drain_and_exit(self) -> None:
        _logger.info("draining: new work is refused, running work is finished")
        try:
            self._leave_shared_port()
            await self._drain()
        except Exception:
            _logger.exception("draining failed")
        await asyncio.sleep(_LAST_ANSWERS_SECONDS)
        self.should_exit = True

    def _leave_shared_port(self) -> None:
        """Listen on it no more. A connection that waits to be accepted just now is reset."""
        if self._shared is None:
            return
        name = self._shared.getsockname()
        for server in self.servers:
            if any(listener.getsockname() == name for listener in server.sockets):
                server.close()
        self._shared.close()

    def _log_unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log without asyncio's message: it shows callback arguments, which hold clients' data."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in EXHAUSTED):
            _logger.error("unforeseen error on the event loop", exc_info=error)
        elif loop.time() >= self._next_complaint:
            self._next_complaint = loop.time() + _COMPLAINT_SECONDS
            _logger.error("new connections wait: %s", error.strerror)
