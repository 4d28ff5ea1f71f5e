"""A connection between two processes of the server, which carries messages."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

_LENGTH_BYTES = 4
_Sent = TypeVar("_Sent")
_Taken = TypeVar("_Taken")
_encode = msgspec.msgpack.Encoder().encode


class Link(asyncio.Protocol, Generic[_Sent, _Taken]):
    """One end of a connection. Each message is preceded by its number of bytes."""

    def __init__(
        self,
        decode: Callable[[bytes], _Taken],
        take: Callable[[_Taken], None],
        lost: Callable[[], None],
    ) -> None:
        """`take` gets each message; `lost` is called once, when the other process has ended."""
        self._decode, self._take, self._lost = decode, take, lost
        self._transport: asyncio.Transport | None = None
        self._received, self._wanted = bytearray(), 0
        """The beginning of a message, and the bytes that it has as far as is known."""

    async def connect(self, connected: socket.socket) -> None:
        """Use this connected socket."""
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: self, connected)

    def send(self, message: _Sent) -> None:
        """Send a message, unless the other process has ended. One that cannot be sent, for lack of
        memory, ends the connection: the other process may wait for it."""
        if self._transport is not None:
            try:
                packed = _encode(message)
                self._transport.write(len(packed).to_bytes(_LENGTH_BYTES, "little") + packed)
            except BaseException:
                self._transport.abort()
                raise

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._received:
            self._received += data
            if len(self._received) < self._wanted:
                return
            data = bytes(self._received)
        begin = 0
        while (first := begin + _LENGTH_BYTES) <= len(data):
            end = first + int.from_bytes(data[begin:first], "little")
            if end > len(data):
                break
            self._take(self._decode(data[first:end]))
            begin = end
        self._received[:] = data[begin:]
        self._wanted = _LENGTH_BYTES if first > len(data) else end - begin

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._lost()
