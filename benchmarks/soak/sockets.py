"""Websockets that carry many requests each."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from benchmarks.soak.wire import Hangup, Writer

PATH = "/translate/stream"
_CONNECTIONS = 3
Messages = asyncio.Queue[dict[str, Any] | None]
"""None: the connection is closed."""


async def open_socket(
    writer: Writer, sock: socket.socket | None = None, max_queue: int = 16
) -> ClientConnection:
    """`sock`: one that is connected already; `max_queue`: messages that are read before somebody
    asks for them. Raises Hangup."""
    headers = {"Authorization": f"Bearer {writer.key}"}
    url = f"ws://{writer.host}:{writer.port}{PATH}"
    try:
        return await connect(
            url,
            additional_headers=headers,
            compression=None,
            sock=sock,
            max_queue=max_queue,
            ping_interval=None,
            close_timeout=1,
        )
    except (InvalidHandshake, ConnectionClosed) as error:
        raise Hangup(f"no websocket: {error}") from error


class Sockets:
    """Requests go to the connections in turn; one that was closed is opened again."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._shared = [_Shared(writer) for _ in range(_CONNECTIONS)]
        self._turns = itertools.cycle(self._shared)

    def ask(self, fields: Mapping[str, Any]) -> Asked:
        return Asked(next(self._turns), fields)

    async def close(self) -> None:
        for shared in self._shared:
            await shared.close()


class Asked:
    """One request over a websocket: its messages until the last one."""

    def __init__(self, shared: _Shared, fields: Mapping[str, Any]) -> None:
        self._shared, self._fields = shared, fields
        self._id = shared.next_id()
        self._queue: Messages = asyncio.Queue()

    async def send(self) -> None:
        """Raises Hangup."""
        self._queue = await self._shared.send(self._id, {"id": self._id, **self._fields})

    async def messages(self) -> AsyncGenerator[dict[str, Any]]:
        """What comes after `send`; the last one is final or an error. Raises Hangup."""
        try:
            while True:
                message = await self._queue.get()
                if message is None:
                    raise Hangup("the websocket was closed before the last message")
                yield message
                if message["type"] != "token":
                    return
        finally:
            self._shared.forget(self._id)

    async def cancel(self) -> None:
        """Raises Hangup."""
        await self._shared.write({"id": self._id, "cancel": True})


class _Shared:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._queues: dict[int, Messages] = {}
        self._ids = itertools.count()
        self._opening = asyncio.Lock()

    def next_id(self) -> int:
        return next(self._ids)

    async def send(self, number: int, message: Mapping[str, Any]) -> Messages:
        async with self._opening:
            if self._socket is None:
                self._socket = await open_socket(self._writer)
                self._reading = asyncio.create_task(self._read(self._socket))
        queue = self._queues[number] = asyncio.Queue()
        await self.write(message)
        return queue

    async def write(self, message: Mapping[str, Any]) -> None:
        if self._socket is None:
            raise Hangup("the websocket is closed")
        try:
            await self._socket.send(json.dumps(message))
        except ConnectionClosed as error:
            raise Hangup(str(error)) from error

    def forget(self, number: int) -> None:
        self._queues.pop(number, None)

    async def close(self) -> None:
        if self._socket is not None and self._reading is not None:
            await self._socket.close()
            await self._reading

    async def _read(self, opened: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in opened:
                message = json.loads(text)
                if queue := self._queues.get(message.get("id")):
                    queue.put_nowait(message)
        self._socket = None
        for queue in self._queues.values():
            queue.put_nowait(None)
