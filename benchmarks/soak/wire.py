"""Requests as bytes and connections that answer them, at little cost to the machine they share."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httptools

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
EVENT_STREAM = "text/event-stream"
_FRESH_SECONDS = 30.0
"""A connection that was idle for longer is not used again: the server may be about to close it."""


class Hangup(ConnectionError):
    """The server closed a connection that waited for an answer."""


@dataclass(frozen=True)
class Answer:
    """A whole answer. `seconds` since the request was sent."""

    status: int
    body: bytes
    seconds: float
    headers: Mapping[bytes, bytes]

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Writer:
    """Writes requests to one server, with a key."""

    host: str
    port: int
    key: str

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, **headers: str
    ) -> bytes:
        """`headers`: further ones, with _ for -."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            f"Authorization: Bearer {self.key}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        if body:
            lines.append(f"Content-Type: {kind}")
        if method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "\r\n"]).encode() + body

    def json(self, path: str, fields: object, method: str = "POST", **headers: str) -> bytes:
        return self.request(method, path, json.dumps(fields).encode(), **headers)

    def form(self, path: str, fields: Mapping[str, Any]) -> bytes:
        return self.request("POST", path, urlencode(fields, doseq=True).encode(), FORM)

    def multipart(
        self, path: str, fields: Mapping[str, str], file: tuple[str, bytes] | None = None
    ) -> bytes:
        """`file`: its name and content."""
        border = secrets.token_hex(8)
        start = f"--{border}\r\nContent-Disposition: form-data; "
        parts = [
            f'{start}name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()
        ]
        if file is not None:
            shown = f'name="file"; filename="{file[0]}"\r\nContent-Type: application/octet-stream'
            parts.append(f"{start}{shown}\r\n\r\n".encode() + file[1] + b"\r\n")
        body = b"".join([*parts, f"--{border}--\r\n".encode()])
        return self.request("POST", path, body, f"multipart/form-data; boundary={border}")


class Connection(asyncio.Protocol):
    """One request at a time. httptools calls the methods `on_...` as it parses the answer."""

    def __init__(self) -> None:
        self.is_open = False
        self.idle_since_seconds = 0.0
        self.transport: asyncio.Transport
        self._reset()

    def _reset(self) -> None:
        loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] = loop.create_future()
        self._begun: asyncio.Future[None] = loop.create_future()
        self._body = bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._sent_seconds = time.perf_counter()

    async def exchange(self, request: bytes) -> Answer:
        """Raises Hangup."""
        self._reset()
        self.transport.write(request)
        return await self._answer

    async def begin(self, request: bytes) -> None:
        """Send, and wait for the first bytes of the answer's body, or its end. Raises Hangup."""
        self._reset()
        self.transport.write(request)
        await self._begun

    async def finish(self) -> Answer:
        """What `begin` began. Raises Hangup."""
        return await self._answer

    def abort(self) -> None:
        self.is_open = False
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport, self.is_open = transport, True

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(Hangup(f"an answer that is no HTTP: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._fail(Hangup(f"the server closed the connection without an answer ({exc!r})"))

    def _fail(self, error: Exception) -> None:
        for future in (self._answer, self._begun):
            if not future.done():
                future.set_exception(error)
                future.exception()  # whoever does not wait for it is not told

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, data: bytes) -> None:
        self._body += data
        if not self._begun.done():
            self._begun.set_result(None)

    def on_message_complete(self) -> None:
        self.is_open = self.is_open and self._parser.should_keep_alive()
        seconds = time.perf_counter() - self._sent_seconds
        status = self._parser.get_status_code()
        if not self._answer.done():
            self._answer.set_result(Answer(status, bytes(self._body), seconds, self._headers))
        if not self._begun.done():
            self._begun.set_result(None)


@dataclass
class Pool:
    """Connections to one server; each is kept for the next request."""

    host: str
    port: int
    _idle: list[Connection] = field(default_factory=list)

    async def send(self, request: bytes) -> Answer:
        """Raises OSError."""
        connection = self._take() or await self.connect()
        try:
            answer = await connection.exchange(request)
        except BaseException:
            connection.abort()
            raise
        self._keep(connection)
        return answer

    async def connect(self) -> Connection:
        """One that is not kept."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, self.host, self.port)
        return connection

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[Connection]:
        """One of its own, ended rudely."""
        connection = await self.connect()
        try:
            yield connection
        finally:
            connection.abort()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().transport.close()

    def _take(self) -> Connection | None:
        """The one last used; the others age until they are closed."""
        self._drop_old()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    def _keep(self, connection: Connection) -> None:
        if connection.is_open:
            connection.idle_since_seconds = time.perf_counter()
            self._idle.append(connection)
        else:
            connection.abort()  # closing would first send the rest of a body that was refused

    def _drop_old(self) -> None:
        oldest_seconds = time.perf_counter() - _FRESH_SECONDS
        while self._idle and self._idle[0].idle_since_seconds < oldest_seconds:
            self._idle.pop(0).transport.close()
