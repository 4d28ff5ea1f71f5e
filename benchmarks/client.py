"""A load generator that costs next to nothing: on two cores, what it takes the server lacks.

A request is the bytes of a real one, made before the clock starts; connections are kept alive;
httptools parses the answers. A request costs it about 50 microseconds of CPU, where a general
client library takes six times as much.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import httptools

from benchmarks.server import HOST, PORT

EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True)
class Answer:
    """One request's status, and seconds until the first byte of its body and until its end."""

    status: int
    first_byte: float
    seconds: float


def translation_of(q: str | list[str], accept: str = "*/*", **options: int) -> bytes:
    """POST /translate from Chinese into English, as it goes over the wire."""
    body = json.dumps({"q": q, "source": "zh", "target": "en", **options}).encode()
    head = (
        "POST /translate HTTP/1.1",
        f"Host: {HOST}:{PORT}",
        f"Accept: {accept}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "\r\n",
    )
    return "\r\n".join(head).encode() + body


class Client:
    """As many connections as there are requests at the same time; each is kept for the next.

    `ports`: of several servers, which get as many connections each."""

    def __init__(self, ports: Sequence[int] = (PORT,)) -> None:
        self._ports = itertools.cycle(ports)
        self._idle: list[_Connection] = []

    async def send(self, request: bytes) -> Answer:
        """Raises ConnectionError if the server hangs up."""
        connection = self._idle_connection() or await self._connect()
        answer = await connection.send(request)
        self._idle.append(connection)
        return answer

    async def translate(self, request: bytes) -> Answer:
        """As `send`, but an answer other than 200 ends the benchmark."""
        answer = await self.send(request)
        if answer.status != 200:
            raise SystemExit(f"a request was answered {answer.status}")
        return answer

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    def _idle_connection(self) -> _Connection | None:
        """One that the server has not closed meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, HOST, next(self._ports))
        return connection


@asynccontextmanager
async def connected(ports: Sequence[int] = (PORT,)) -> AsyncGenerator[Client]:
    client = Client(ports)
    try:
        yield client
    finally:
        client.close()


class _Connection(asyncio.Protocol):
    """One request at a time. httptools calls the methods `on_...` as it parses the answer."""

    def __init__(self) -> None:
        self.is_open = False
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._sent = self._first_byte = 0.0

    def send(self, request: bytes) -> asyncio.Future[Answer]:
        self._answer = asyncio.get_running_loop().create_future()
        self._first_byte, self._sent = 0.0, time.perf_counter()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, _: bytes) -> None:
        self._first_byte = self._first_byte or time.perf_counter() - self._sent

    def on_message_complete(self) -> None:
        seconds = time.perf_counter() - self._sent
        if not self._answer.done():  # its caller has not given up
            status = self._parser.get_status_code()
            self._answer.set_result(Answer(status, self._first_byte, seconds))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if not self._answer.done():
            self._answer.set_exception(
                ConnectionError("the server closed the connection without an answer")
            )
