"""Receive bytes without allocating memory for them first.

Without it the event loop makes bytes of what it reads, and closes the connection if it has no
memory for them. So the client would get no answer.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

_READ_BYTES = 256 * 1024


class Receiver(Protocol):
    """The protocol that gets the bytes."""

    def data_received(self, data: bytes) -> None: ...
    def eof_received(self) -> bool | None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...

    def refuse_exhausted(self) -> None:
        """Called if there is no memory for the bytes."""
        ...


class ReadBuffer:
    """What all connections of an event loop read into, one after the other."""

    def __init__(self, num_bytes: int = _READ_BYTES) -> None:
        self.view = memoryview(bytearray(num_bytes))


class BufferedReceiver(asyncio.BufferedProtocol):
    """Reads into a shared buffer, and hands the bytes and all events to a protocol."""

    def __init__(self, receiver: Receiver, buffer: ReadBuffer) -> None:
        self._receiver, self._view = receiver, buffer.view

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._receiver.data_received(bytes(self._view[:nbytes]))
        except MemoryError:
            self._receiver.refuse_exhausted()

    def eof_received(self) -> bool | None:
        return self._receiver.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiver.connection_lost(exc)

    def pause_writing(self) -> None:
        self._receiver.pause_writing()

    def resume_writing(self) -> None:
        self._receiver.resume_writing()
