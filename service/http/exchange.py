"""A request and its answer on their way through the server."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from service.http.request_log import RequestRecord

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""They tell browsers what they may not do with an answer."""
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Exchange:
    """One request and its answer, whose status goes to the record. The answer gets SECURITY_HEADERS
    unless it has its own, and the headers of `added`.

    Closing a connection while the client sends resets it and loses the answer. So an answer that
    comes before the body was read is sent at once, but its end only when the rest of the body was
    received and discarded, or a limit of bytes or seconds is reached. Then the connection closes.
    """

    max_bytes = 32 * 2**20
    max_seconds = 5.0

    def __init__(self, record: RequestRecord, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self.record, self.added = record, dict[str, str]()
        self._receive, self._send = receive, send
        self._awaits_continue = "expect" in headers
        self._is_body_complete = not (
            headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        )
        self._is_end_withheld = False

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body", False):
            self._is_body_complete = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.record.status = message["status"]
            message["headers"] = [*message["headers"], *self._more_headers(message)]
            if not self._is_body_complete and not self._awaits_continue:
                await self._discard_what_has_come()  # receiving would send 100 Continue
            if not self._is_body_complete:
                message["headers"].append((b"connection", b"close"))
        elif not self._is_body_complete and not message.get("more_body", False):
            self._is_end_withheld = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def end(self) -> None:
        """Discard the rest of the body within the limits, and send the end of the answer."""
        if self._is_end_withheld:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.max_seconds):
                    await self._discard_body()
            await self._send(_END)

    def _more_headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        own = [name for name, _ in message["headers"]]
        added = [(name.lower().encode(), value.encode()) for name, value in self.added.items()]
        return added + [header for header in SECURITY_HEADERS if header[0] not in own]

    async def _discard_body(self) -> None:
        num_bytes = 0
        while not self._is_body_complete and num_bytes < self.max_bytes:
            num_bytes += len((await self.receive()).get("body", b""))

    async def _discard_what_has_come(self) -> None:
        """A small body usually arrives with the headers; then the connection can stay open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await self.receive()
