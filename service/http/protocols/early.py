"""Answers refused requests without a task, an ASGI scope or a stored body."""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from service.http.early_refusals import EarlyRefusal, EarlyRefusals
from service.http.protocols.http10 import Http10Protocol
from service.http.protocols.raw_answers import http_answer

EARLY_REFUSALS = "early_refusals"
"""The key of the EarlyRefusals in the state that the app's lifespan yields."""
_MOST_BODY_BYTES = 64 * 1024
_OTHER_WAY = frozenset({b"origin", b"expect", b"transfer-encoding", b"upgrade"})
"""Headers of requests that the app must refuse itself: CORS, 100 Continue, chunks."""


class EarlyProtocol(Http10Protocol):
    """Reads the body of a refused request, if it is small, and answers at its end, so that the
    connection can be kept. All other requests go to the app, which refuses them too.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._refusals: EarlyRefusals | None = app_state.get(EARLY_REFUSALS)
        self._refusal: EarlyRefusal | None = None

    @property
    def is_refusing(self) -> bool:
        """Whether a request is being read that is refused already."""
        return self._refusal is not None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._refusals is not None and self._refusal is not None:
            self._refusal.abandon()
            self._refusals.enter(self._refusal)
            self._refusal = None
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self._refusal = self._find_refusal()
        if self._refusal is None:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._refusal is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._refusals is None or self._refusal is None:
            super().on_message_complete()
            return
        refusal, self._refusal = self._refusal, None
        self._send(*refusal.answer())
        self._refusals.enter(refusal)

    def _find_refusal(self) -> EarlyRefusal | None:
        is_free = self.cycle is None or self.cycle.response_complete
        if self._refusals is None or not is_free or self.flow.write_paused:
            return None
        if self.parser.get_method() != b"POST" or self.parser.get_http_version() != "1.1":
            return None
        given = dict(self.headers)
        size = given.get(b"content-length", b"")
        if not size.isdigit() or int(size) > _MOST_BODY_BYTES or not _OTHER_WAY.isdisjoint(given):
            return None
        path = httptools.parse_url(self.url).path.decode("ascii")
        return self._refusals.find(path, given.get(b"x-request-id", b"").decode("latin-1"))

    def _send(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        is_kept = self.parser.should_keep_alive()
        headers = [*self.server_state.default_headers, *headers]
        if not is_kept:
            headers.append((b"connection", b"close"))
        self.transport.write(http_answer(status, headers, body))
        if not is_kept:
            self.transport.close()
