"""Adds an id and a record to every request, and answers unexpected exceptions.

Plain ASGI, because Starlette's BaseHTTPMiddleware hides the client's disconnect from the route.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ClientGone, ServiceError
from service.http.error_handlers import error_of, error_response
from service.http.request_log import REQUEST_ID_HEADER, RequestLog, RequestRecord, request_id_of
from service.observability.metrics import Metrics

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoints:
    """The paths that metrics name, the prefixes that stand for the paths below them, and those of
    the paths whose POST needs the engines."""

    paths: frozenset[str]
    prefixes: tuple[str, ...]
    work: frozenset[str]

    def label(self, path: str) -> str:
        """The metrics' label of a path."""
        if path in self.paths:
            return path
        return next((prefix for prefix in self.prefixes if path.startswith(prefix)), "other")


class RequestMiddleware:
    """Gives each request an id and a record, adds the common response headers, and turns uncaught
    exceptions into a 500.

    `refusal` returns the error that rejects a POST to one of `endpoints.work` now, or None. It is
    called before the body is read, so rejections by a full server are cheap.
    """

    def __init__(
        self,
        app: ASGIApp,
        request_log: RequestLog,
        metrics: Metrics,
        endpoints: Endpoints,
        refusal: Callable[[], ServiceError | None],
    ) -> None:
        self._app, self._request_log, self._metrics = app, request_log, metrics
        self._endpoints, self._refusal = endpoints, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("//"):  # the server's address was written with a slash
            scope["path"] = "/" + scope["path"].lstrip("/")
        record = self._record(scope)
        extra = {REQUEST_ID_HEADER: record.request_id}
        state = scope.setdefault("state", {})
        state.update(record=record, request_id=record.request_id, response_headers=extra)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                added = [(name.lower().encode(), value.encode()) for name, value in extra.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            app = self._app_or_refusal(scope, record)
            await app(scope, receive, send_with_headers)
        except ClientDisconnect:
            record.status = None
        except Exception as failure:
            error = error_of(failure)
            try:
                if record.status is None:
                    answer = error_response(error, record.request_id, scope["path"])
                    await answer(scope, receive, send_with_headers)
            finally:
                self._log(failure, error, record)
            record.status = error.status
        finally:
            if record.status is None:
                record.status = ClientGone.status
            self._request_log.enter(record)

    def _record(self, scope: Scope) -> RequestRecord:
        headers, endpoint = Headers(scope=scope), self._endpoints.label(scope["path"])
        traceparent = headers.get("traceparent")
        return RequestRecord(request_id_of(headers), scope["method"], endpoint, traceparent)

    def _log(self, failure: Exception, error: ServiceError, record: RequestRecord) -> None:
        if error.is_rejection:
            self._metrics.count_rejected(error.code)
        _logger.error("request failed", exc_info=failure, extra={"request_id": record.request_id})

    def _app_or_refusal(self, scope: Scope, record: RequestRecord) -> ASGIApp:
        is_work = scope["method"] == "POST" and scope["path"] in self._endpoints.work
        error = self._refusal() if is_work else None
        if error is None:
            return self._app
        self._metrics.count_rejected(error.code)
        return error_response(error, record.request_id, scope["path"])
