"""Keep a request without memory from failing more than itself."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.http.error_handlers import release_locals


class SparingApp:
    """An app. What is buffered of its request's body is freed if there is no memory to receive it,
    and `on_exhausted` is called if the app cannot even answer that."""

    def __init__(
        self,
        app: ASGIApp,
        cycle: RequestResponseCycle,
        on_exhausted: Callable[[RequestResponseCycle], None],
    ) -> None:
        self._app, self._cycle, self._on_exhausted = app, cycle, on_exhausted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_or_free() -> Message:
            try:
                return await receive()
            except MemoryError:
                self._cycle.body = bytearray()
                raise

        try:
            await self._app(scope, receive_or_free, send)
        except MemoryError as failure:
            release_locals(failure)
            self._on_exhausted(self._cycle)
