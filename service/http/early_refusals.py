"""Refuse work by a request's head alone, while no engine or the event loop has room.

A refusal of the middleware costs several times as much: a task, the ASGI messages and the body.
"""

from __future__ import annotations

from collections.abc import Callable

from service.errors import ClientGone, Overloaded, ServiceError
from service.http.error_handlers import error_response
from service.http.loop_turns import LoopTurns
from service.http.request_log import REQUEST_ID_HEADER, RequestLog, RequestRecord, sane_id
from service.http.security_headers import SECURITY_HEADERS
from service.observability.metrics import Metrics


class EarlyRefusal:
    """One refused request, counted once: when it is answered or when its client has left."""

    def __init__(self, error: ServiceError, path: str, record: RequestRecord) -> None:
        self._error, self._path = error, path
        self.record = record

    def answer(self) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """The status, the headers and the body, in the format of the path's API."""
        response = error_response(self._error, self.record.request_id, self._path)
        name = REQUEST_ID_HEADER.lower().encode()
        headers = [
            *response.raw_headers,
            *SECURITY_HEADERS,
            (name, self.record.request_id.encode()),
        ]
        self.record.status = response.status_code
        return response.status_code, headers, bytes(response.body)

    def abandon(self) -> None:
        """The client left before it had sent the whole request."""
        self.record.status = ClientGone.status


class EarlyRefusals:
    """Decides which requests are refused before they are read, and counts them like the others.

    The event loop reads all connections that have something before it starts the requests. So those
    that it has let in and not started yet count as waiting: the app would refuse them otherwise.
    """

    def __init__(
        self,
        paths: frozenset[str],
        request_log: RequestLog,
        metrics: Metrics,
        refusal: Callable[[int], ServiceError | None],
    ) -> None:
        """`paths`: whose POST needs the engines. `refusal`: the error that rejects so many now."""
        self._paths, self._request_log = paths, request_log
        self._metrics, self._refusal = metrics, refusal
        self._turns = LoopTurns()

    def find(self, path: str, given_id: str) -> EarlyRefusal | None:
        """The refusal of a POST to this path, or None if it is to be read."""
        if path not in self._paths:
            return None
        error = self._refusal(self._turns.num_let_in + 1)
        if error is None and self._turns.is_full():
            error = Overloaded("more requests come than the server can read; try again later")
        if error is None:
            self._turns.let_in()
            return None
        self.count(error.code)
        return EarlyRefusal(error, path, RequestRecord(sane_id(given_id), "POST", path))

    def count(self, reason: str) -> None:
        """Count a request that is refused for this reason."""
        self._metrics.count_rejected(reason)

    def enter(self, refusal: EarlyRefusal) -> None:
        """Count the request, which is over."""
        self._request_log.enter(refusal.record)
