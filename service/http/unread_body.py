"""Deliver answers that are sent before the request's body is read.

Closing a connection while the client sends resets it and loses the answer. So the rest of the body
is received and discarded, up to a limit of bytes and time.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_BYTES = 32 * 2**20
_MAX_SECONDS = 5.0
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class UnreadBodyMiddleware:
    """Sends an early answer at once, but its end only when the body is complete or a limit is
    reached. Then the connection is closed."""

    def __init__(
        self, app: ASGIApp, max_bytes: int = _MAX_BYTES, max_seconds: float = _MAX_SECONDS
    ) -> None:
        self._app = app
        self._max_bytes, self._max_seconds = max_bytes, max_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _announces_body(scope):
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(receive, send, awaits_continue="expect" in Headers(scope=scope))
        await self._app(scope, exchange.receive, exchange.send)
        if exchange.is_end_withheld:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._max_seconds):
                    await exchange.discard_body(self._max_bytes)
            await send(_END)


class _Exchange:
    """One request and its answer; withholds the answer's end while the body is incomplete."""

    def __init__(self, receive: Receive, send: Send, *, awaits_continue: bool) -> None:
        self._receive, self._send = receive, send
        self._awaits_continue = awaits_continue
        self._is_body_complete = self.is_end_withheld = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._is_body_complete = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._is_body_complete:
            if not self._awaits_continue:  # receiving would send 100 Continue
                await self._discard_what_has_come()
            if not self._is_body_complete:
                MutableHeaders(scope=message)["Connection"] = "close"
        is_end = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_end and not self._is_body_complete:
            self.is_end_withheld = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def discard_body(self, max_bytes: int) -> None:
        """Receive until the body is complete, the client is gone or `max_bytes` have arrived."""
        while not self._is_body_complete and max_bytes > 0:
            max_bytes -= len((await self.receive()).get("body", b""))

    async def _discard_what_has_come(self) -> None:
        """A small body usually arrives with the headers; then the connection can stay open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await self.receive()


def _announces_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
