"""Refuse a request, and close its connection so that the answer arrives."""

from __future__ import annotations

import contextlib
import logging
import secrets
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.errors import Exhausted, ServiceError
from service.http.error_handlers import error_of
from service.http.protocols.early import EarlyProtocol
from service.http.protocols.input import PacedInput
from service.http.protocols.limits import WireLimits
from service.http.protocols.raw_answers import EXHAUSTED, refusal
from service.http.protocols.sparing import SparingApp

_logger = logging.getLogger(__name__)


class RefusingProtocol(EarlyProtocol):
    """Refuses what violates a limit, and what there is no memory for.

    It answers if the client would not take that for the answer to an earlier request. Closing while
    the client sends would reset the connection and lose the answer, so the rest is discarded for a
    while.
    """

    limits: ClassVar[WireLimits] = WireLimits()
    url: bytes = b""
    """As uvicorn sets it when the first request begins."""
    _input: PacedInput
    _is_refused = False
    _is_in_head = True  # of a request, or before one
    _running: RequestResponseCycle | None = None  # the app's request, or its last one

    def refuse_exhausted(self) -> None:
        """Refuse a request that there is no memory for. What is buffered of it is freed first, so
        that there is memory for the answer. An answer that is due or begun is sent to its end."""
        if self._is_refused:
            return
        self._input.drop()
        if self.cycle is not None:
            self.cycle.body = bytearray()
        self._count_exhausted()
        if self._is_answer_due:
            self._end_after_answer()
        else:
            self._refuse(error_of(MemoryError()))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_refused and not self.transport.is_closing():
            self._end_with(b"")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        try:
            super()._start_asgi_task(cycle, SparingApp(app, cycle, self._end_failed))
            self._running = cycle
        except MemoryError:
            self._count_exhausted()
            self._end_failed(cycle)

    def _refuse(self, error: ServiceError) -> None:
        """Answer if possible, and close the connection."""
        self._is_refused = True
        self._input.drop()
        answer = self._make_answer(error)
        if not self._may_answer:
            self.transport.close()
            return
        if self._running is not None:
            self._leave(self._running)
        self._end_with(answer)

    def _make_answer(self, error: ServiceError) -> bytes:
        """The answer to the refused request, which is logged; one made beforehand if there is no
        memory."""
        try:
            request_id = secrets.token_hex(16)
            facts = {"request_id": request_id, "status": error.status, "code": error.code}
            _logger.info("a connection was refused", extra=facts)
            path = self.url.partition(b"?")[0].decode("latin-1")
            return refusal(error, request_id, path, self.server_state.default_headers)
        except MemoryError:
            return EXHAUSTED

    @property
    def _may_answer(self) -> bool:
        """Whether the client would match an answer sent now to the refused request."""
        if self.transport.is_closing():
            return False
        if self.is_refusing:
            return True
        if self._running is None or self._running.response_complete:
            return self._is_in_head
        return not self._is_answer_due

    @property
    def _is_answer_due(self) -> bool:
        """Whether the app answers an earlier request, or has begun to answer this one."""
        running = self._running
        if running is None or running.response_complete:
            return False
        return self._is_in_head or running.response_started or bool(self.pipeline)

    def _end_after_answer(self) -> None:
        """Close the connection when the answer is complete."""
        self._is_refused = True
        self.pipeline.clear()
        if self._running is not None:
            self._running.keep_alive = True  # or uvicorn closes it at once

    def _end_failed(self, cycle: RequestResponseCycle) -> None:
        """Called if memory is lacking even to start the app, or for its own error answer."""
        if cycle.response_complete or self.transport.is_closing():
            return
        self._is_refused = True
        self._input.drop()
        self.pipeline.clear()
        self._leave(cycle)
        if cycle.response_started:
            cycle.transport.close()
        else:
            self._end_with(EXHAUSTED)

    def _leave(self, cycle: RequestResponseCycle) -> None:
        """Tell the app that the client has left."""
        if not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

    def _end_with(self, data: bytes) -> None:
        """Send the last bytes, and close the connection after a delay."""
        try:
            self.transport.write(data)
            self.transport.write_eof()
            self.loop.call_later(self.limits.linger_seconds, self.transport.abort)
        except MemoryError:
            self.transport.close()

    def _count_exhausted(self) -> None:
        with contextlib.suppress(MemoryError):
            if self._refusals is not None:
                self._refusals.count(Exhausted.code)
