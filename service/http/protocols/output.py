"""Sent bytes that nobody reads."""

from __future__ import annotations

import asyncio


class SendWatch:
    """Notices that what waits to be sent does not become less.

    A transport that is closed waits for its buffer without end, so it is watched as well.
    """

    def __init__(self, transport: asyncio.Transport, limit_seconds: float) -> None:
        self._transport, self._limit_seconds = transport, limit_seconds
        self._size = 0
        self._since_seconds = 0.0

    def is_stalled(self, now_seconds: float) -> bool:
        """Whether the reader has taken nothing for too long; to be asked about every second."""
        size = self._transport.get_write_buffer_size()
        if size == 0 or size < self._size or self._size == 0:
            self._since_seconds = now_seconds
        self._size = size
        return now_seconds - self._since_seconds > self._limit_seconds
