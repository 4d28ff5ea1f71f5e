"""Around every request: its id, its metrics, and an answer even if something unforeseen breaks.

Plain ASGI, because a wrapper of Starlette's kind hides the client's disconnection from the route.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ServiceError, outcome_of
from service.metrics import Metrics
from service.responses import error_response

_logger = logging.getLogger(__name__)
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_REQUEST_ID_HEADER = "X-Request-ID"


class RequestMiddleware:
    """Outermost: gives each request an id, catches what nobody caught, counts the outcome.

    `refusal` says why a POST to `work_path` cannot be taken now, or None; a full server so says no
    before it reads and parses anything, and its rejections cost next to nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        endpoints: frozenset[str],
        work_path: str,
        refusal: Callable[[], ServiceError | None],
    ) -> None:
        self._app, self._metrics, self._endpoints = app, metrics, endpoints
        self._work_path, self._refusal = work_path, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        status: int | None = None

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[_REQUEST_ID_HEADER] = request_id
            await send(message)

        try:
            await self._app_or_refusal(scope, request_id)(scope, receive, send_with_id)
        except Exception:
            _logger.exception("request %s failed", request_id)
            if status is None:
                error = ServiceError("something went wrong here; the request may be tried again")
                await error_response(error, request_id)(scope, receive, send_with_id)
            status = 500
        finally:
            self._count(scope["path"], status, time.perf_counter() - started)

    def _app_or_refusal(self, scope: Scope, request_id: str) -> ASGIApp:
        is_work = scope["method"] == "POST" and scope["path"] == self._work_path
        error = self._refusal() if is_work else None
        if error is None:
            return self._app
        self._metrics.count_rejected(error.code)
        return error_response(error, request_id)

    def _count(self, path: str, status: int | None, seconds: float) -> None:
        endpoint = path if path in self._endpoints else "other"
        self._metrics.count_request(endpoint, outcome_of(status), seconds)


def _request_id(headers: Headers) -> str:
    """The client's own if it is short and plain, so that it may stand in logs and headers."""
    given = headers.get(_REQUEST_ID_HEADER, "")
    return given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
