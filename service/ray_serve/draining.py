"""Drain the websockets of a server that is about to stop."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.routes.websocket import LEAVING, SERVER_LEAVES


class DrainingWebsockets:
    """Middleware: once `is_leaving` is set, websockets take no more messages and close after their
    requests in progress."""

    def __init__(self, app: ASGIApp, is_leaving: asyncio.Event) -> None:
        self._app, self._is_leaving = app, is_leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return

        has_left = False

        async def receive_or_leave() -> Message:
            nonlocal has_left
            message = await self._before_leaving(receive)
            has_left = message is None
            return message or {**SERVER_LEAVES}

        await self._app(scope, receive_or_leave, send)
        if has_left:
            reason = "the server is about to stop; connect again"
            await send({"type": "websocket.close", "code": LEAVING, "reason": reason})

    async def _before_leaving(self, receive: Receive) -> Message | None:
        """The client's next message, or None once the server is leaving."""
        receiving = asyncio.ensure_future(receive())
        leaving = asyncio.ensure_future(self._is_leaving.wait())
        try:
            await asyncio.wait({receiving, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return receiving.result() if receiving.done() else None
        finally:
            receiving.cancel()
            leaving.cancel()
