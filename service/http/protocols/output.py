"""Detect clients that do not read."""

from __future__ import annotations

import asyncio


class SendWatch:
    """Detects a send buffer that does not shrink.

    Closing transports are checked too, because they wait for their buffer without a time limit.
    """

    def __init__(self, transport: asyncio.Transport, limit_seconds: float) -> None:
        self._transport, self._limit_seconds = transport, limit_seconds
        self._size = 0
        self._since_seconds = 0.0

    def is_stalled(self, now_seconds: float) -> bool:
        """Whether the client has read nothing for too long; call this about every second."""
        size = self._transport.get_write_buffer_size()
        if size == 0 or size < self._size or self._size == 0:
            self._since_seconds = now_seconds
        self._size = size
        return now_seconds - self._since_seconds > self._limit_seconds
