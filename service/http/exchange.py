"""One request and its answer: the head, which is read once, and what goes through to the client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from starlette.types import Message, Receive, Scope, Send

from service.http.error_answers import SECURITY_HEADERS
from service.http.head import has_body, headers_of
from service.http.paths import PathRules
from service.http.request_log import RequestRecord

Header = tuple[bytes, bytes]
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}
_SECURITY_NAMES = frozenset(name for name, _ in SECURITY_HEADERS)


class Exchange:
    """One request and its answer, whose status goes to the record. The answer gets SECURITY_HEADERS
    unless it has its own, and the headers of `added`, by their names in lower case.

    Closing a connection while the client sends resets it and loses the answer. So an answer that
    comes before the body was read is sent at once, but its end only when the rest of the body was
    received and discarded, or a limit of bytes or seconds is reached. Then the connection closes.
    """

    max_bytes = 32 * 2**20
    max_seconds = 5.0

    def __init__(self, scope: Scope, receive: Receive, send: Send, rules: PathRules) -> None:
        self.headers = headers_of(scope)
        self.rules, self.record = rules, RequestRecord.of(scope, self.headers, rules.label)
        self.added: dict[bytes, bytes] = {}
        self._receive, self._send = receive, send
        self._is_body_complete = not has_body(self.headers)
        self.is_end_withheld = False

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body", False):
            self._is_body_complete = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.record.status = message["status"]
            message["headers"] = self._with_common(message["headers"])
            if not self._is_body_complete:
                await self._begin_early(message)
        elif not self._is_body_complete and not message.get("more_body", False):
            self.is_end_withheld = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def end(self) -> None:
        """Discard the rest of the body within the limits, and send the end that was withheld."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.max_seconds):
                await self._discard_body()
        await self._send(_END)

    def _with_common(self, own: Iterable[Header]) -> list[Header]:
        """The headers of an answer, with those that every answer gets."""
        headers = [*own, *self.added.items()]
        names = {name for name, _ in headers}
        if _SECURITY_NAMES.isdisjoint(names):
            return [*headers, *SECURITY_HEADERS]
        return headers + [header for header in SECURITY_HEADERS if header[0] not in names]

    async def _begin_early(self, message: Message) -> None:
        """The answer comes before the body was read."""
        if b"expect" not in self.headers:
            await self._discard_what_has_come()  # receiving would send 100 Continue
        if not self._is_body_complete:
            message["headers"].append((b"connection", b"close"))

    async def _discard_body(self) -> None:
        num_bytes = 0
        while not self._is_body_complete and num_bytes < self.max_bytes:
            num_bytes += len((await self.receive()).get("body", b""))

    async def _discard_what_has_come(self) -> None:
        """A small body usually arrives with the headers; then the connection can stay open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await self.receive()
