"""Send an answer's head and the beginning of its body with one system call."""

from __future__ import annotations

import asyncio


class JoinedWrites:
    """What a request's answer is written to. Holds the first bytes, which are the head, until the
    next ones or the end of the event loop's turn, so that a head is never late.

    uvloop passes each write to the kernel at once, which wakes the client for each.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None
        self._has_begun = False

    def write(self, data: bytes) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._write_joined(held, data)
        elif not self._has_begun:
            self._held, self._has_begun = data, True
            self._loop.call_soon(self._send_held)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._send_held()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _write_joined(self, held: bytes, data: bytes) -> None:
        """Without memory for a copy of both, write one after the other."""
        try:
            joined = held + data
        except MemoryError:
            self._transport.write(held)
            self._transport.write(data)
        else:
            self._transport.write(joined)

    def _send_held(self) -> None:
        held, self._held = self._held, None
        if held is not None and not self._transport.is_closing():
            self._transport.write(held)
