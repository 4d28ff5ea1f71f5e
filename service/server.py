"""uvicorn, but SIGTERM first drains: new work is refused while running work is finished."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import Awaitable, Callable
from types import FrameType

import uvicorn

from service.signals import end_at_once

_logger = logging.getLogger(__name__)
_YOUNG_OBJECTS = 10_000


class Server(uvicorn.Server):
    """On the first SIGTERM or SIGINT awaits `drain`, then shuts down and ends with exit code 0;
    the second ends the process at once."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._drain = drain
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self._num_signals = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        _spare_what_stays()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called in the signal's context: uvicorn would only close the port and raise it again."""
        self._num_signals += 1
        if self._loop is None or self._num_signals > 1:
            end_at_once(sig)
        else:
            self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._draining = asyncio.ensure_future(self._drain_and_exit())

    async def _drain_and_exit(self) -> None:
        _logger.info("draining: new work is refused, running work is finished")
        try:
            await self._drain()
        except Exception:
            _logger.exception("draining failed")
        self.should_exit = True


def _spare_what_stays() -> None:
    """What start-up made lives as long as the process: a garbage collector that goes through it
    again stops every thread for about 80 ms. What requests make is mostly freed without it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
