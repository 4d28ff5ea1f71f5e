"""Pings find clients that are gone, and take none for gone whose answer has to wait."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from service.http.protocols import websocket
from service.server import uvicorn_config
from tests.service.http.protocols.wire import PONG, TEXT, frame, handshake

INTERVAL_SECONDS, TIMEOUT_SECONDS = 0.05, 0.05


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_closed = b"", False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def pings(self) -> list[bytes]:
        """The payloads of the pings behind the handshake's answer."""
        _, *rest = self.written.partition(b"\r\n\r\n")[2].split(b"\x89\x04")
        return [part[:4] for part in rest]


async def accept_and_receive_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    await asyncio.Event().wait()


async def opened(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Transport]:
    monkeypatch.setattr(websocket, "_LAST_SECONDS", TIMEOUT_SECONDS)
    config = uvicorn_config(accept_and_receive_nothing, 1000)
    config.ws_ping_interval, config.ws_ping_timeout = INTERVAL_SECONDS, TIMEOUT_SECONDS
    config.load()
    protocol = cast(Any, config.ws_protocol_class)(config, ServerState(), {})
    transport = Transport()
    protocol.connection_made(transport)
    protocol.data_received(handshake())
    async with asyncio.timeout(30):
        while not transport.pings():
            await asyncio.sleep(0.01)
    return protocol, transport


def test_a_client_that_says_nothing_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        _, transport = await opened(monkeypatch)
        async with asyncio.timeout(30):
            while not transport.is_closed:
                await asyncio.sleep(0.01)
        assert b"keepalive" in transport.written

    asyncio.run(check())


def test_a_pong_behind_messages_that_nobody_has_received_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def check() -> None:
        protocol, transport = await opened(monkeypatch)
        answered = 0
        async with asyncio.timeout(30):
            while answered < 5:
                pings = transport.pings()
                for payload in pings[answered:]:
                    protocol.data_received(frame(TEXT, b"{}") * 300 + frame(PONG, payload))
                answered = len(pings)
                await asyncio.sleep(0.01)
        assert not transport.is_closed

    asyncio.run(check())


def test_a_pong_that_a_stalled_loop_reads_late_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        protocol, transport = await opened(monkeypatch)
        (payload,) = transport.pings()
        protocol.pong_timer.cancel()
        protocol.keepalive_timeout()
        protocol.data_received(frame(PONG, payload))
        assert not transport.is_closed
        assert protocol.ping_timer is not None

    asyncio.run(check())
