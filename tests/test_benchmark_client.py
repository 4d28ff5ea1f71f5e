"""The benchmarks' client, on the event loop that they use."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from benchmarks import client as client_module
from benchmarks.client import connected, translation_of


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"}")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    await writer.drain()
    writer.close()


async def asked(monkeypatch: pytest.MonkeyPatch) -> int:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    monkeypatch.setattr(client_module, "PORT", server.sockets[0].getsockname()[1])
    async with server, connected() as client:
        return (await client.translate(translation_of("你好"))).status


def test_it_asks_and_reads_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert uvloop.run(asked(monkeypatch)) == 200
