"""HTTP/1.0 answers of unknown length: closing the connection ends them, because HTTP/1.0 has no
chunks."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle


class Http10Protocol(HttpToolsProtocol):
    """uvicorn's protocol without chunked answers to HTTP/1.0 clients."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle.scope["http_version"] == "1.0":
            app = _EndedByClosing(app, cycle)
        super()._start_asgi_task(cycle, app)


class _EndedByClosing:
    """Sets the expected length to each part's, so uvicorn accepts answers without a length."""

    def __init__(self, app: ASGIApp, cycle: RequestResponseCycle) -> None:
        self._app, self._cycle = app, cycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_endless = False

        async def send_unchunked(message: Message) -> None:
            nonlocal is_endless
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", ())}
                is_endless = b"content-length" not in names
                if is_endless:
                    self._cycle.chunked_encoding = False
            elif is_endless and message["type"] == "http.response.body":
                self._cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, send_unchunked)
