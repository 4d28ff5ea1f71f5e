"""Bytes are received into one buffer, and their client is answered when there is no memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
import uvloop
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from service.http.protocols.received import BufferedReceiver, ReadBuffer
from service.server import uvicorn_config

HEAD = b"POST /translate HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n"


class Full(bytearray):
    """A body that there is no memory to add to."""

    def __iadd__(self, _: Any) -> Any:
        raise MemoryError


class Transport:
    """Keeps what is written, and who gets what is read."""

    def __init__(self) -> None:
        self.written, self.is_ended = b"", False
        self.protocol: BufferedReceiver

    def set_protocol(self, protocol: BufferedReceiver) -> None:
        self.protocol = protocol

    def receive(self, data: bytes) -> None:
        buffer = self.protocol.get_buffer(len(data))
        buffer[: len(data)] = data
        self.protocol.buffer_updated(len(data))

    def write(self, data: bytes) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.is_ended = True

    def abort(self) -> None:
        raise AssertionError("the connection is closed without an answer")

    close = abort

    def get_extra_info(self, _: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


async def wait_for_ever(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def connected() -> tuple[Any, Transport]:
    """The server's protocol on a transport; its app reads all and answers nothing."""
    config = uvicorn_config(wait_for_ever, 1000)
    config.load()
    protocol = cast(Any, config.http_protocol_class)(config, ServerState(), {})
    transport = Transport()
    protocol.connection_made(transport)
    return protocol, transport


def answered(transport: Transport) -> tuple[bytes, dict[str, Any]]:
    head, _, body = transport.written.partition(b"\r\n\r\n")
    return head.splitlines()[0], json.loads(body)


def exhaust_body(protocol: Any, transport: Transport) -> None:
    protocol.cycle.body = Full()
    transport.receive(b"x" * 500)


def exhaust_read(protocol: Any, transport: Transport) -> None:
    class NoMemory:
        def __getitem__(self, _: slice) -> bytes:
            raise MemoryError

    view = transport.protocol._view
    transport.protocol._view = cast(Any, NoMemory())
    transport.protocol.buffer_updated(500)
    transport.protocol._view = view


def exhaust_parser(protocol: Any, transport: Transport) -> None:
    def no_memory(_: bytes) -> None:
        raise MemoryError

    protocol.parse = no_memory
    transport.receive(b"x" * 500)


@pytest.mark.parametrize("exhaust", [exhaust_body, exhaust_read, exhaust_parser])
def test_a_request_that_cannot_be_received_for_lack_of_memory_gets_503(exhaust: Any) -> None:
    async def scenario() -> None:
        protocol, transport = connected()
        transport.receive(HEAD + b"x" * 100)
        await asyncio.sleep(0)
        exhaust(protocol, transport)
        await asyncio.sleep(0.01)
        status, body = answered(transport)
        assert status == b"HTTP/1.1 503 Service Unavailable"
        assert body["code"] == "exhausted"
        assert b"retry-after" in transport.written.lower()
        assert transport.is_ended
        written = transport.written
        transport.receive(b"x" * 400)
        assert transport.written == written
        assert protocol.cycle.disconnected
        await asyncio.sleep(0)

    asyncio.run(scenario())


def test_a_connection_whose_first_bytes_find_no_memory_gets_503() -> None:
    async def scenario() -> None:
        protocol, transport = connected()
        exhaust_read(protocol, transport)
        status, body = answered(transport)
        assert status == b"HTTP/1.1 503 Service Unavailable"
        assert body["code"] == "exhausted"
        assert transport.is_ended

    asyncio.run(scenario())


def test_connections_that_read_into_one_buffer_get_their_own_bytes() -> None:
    class Echo(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast(asyncio.Transport, transport)
            self.transport.set_protocol(BufferedReceiver(self, buffer))

        def data_received(self, data: bytes) -> None:
            self.transport.write(data)

        def refuse_exhausted(self) -> None:
            self.transport.abort()

    buffer = ReadBuffer(100)

    async def exchange(port: int, text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        writer.write_eof()
        received = await reader.read()
        writer.close()
        return received

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        texts = [bytes([number]) * 5000 for number in range(20)]
        assert await asyncio.gather(*(exchange(port, text) for text in texts)) == texts
        server.close()
        await asyncio.sleep(0.1)  # closing takes some turns of the loop

    for run in (asyncio.run, uvloop.run):
        run(scenario())
