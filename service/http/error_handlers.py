"""Error responses, in the format of the route's API."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from service.errors import (
    Exhausted,
    KeyRequired,
    ServiceError,
    printable,
    shown,
)
from service.http.error_formats import Failure, render_failure
from service.observability.metrics import Metrics

NO_ID = "none"
"""The id of a request that failed before it got one."""
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_EXHAUSTED = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


def error_of(failure: Exception) -> ServiceError:
    """What the client is told of an error that no code foresaw."""
    if _is_exhaustion(failure):
        return Exhausted("the server has too little memory or too few threads for this now")
    return ServiceError("something went wrong here; the request may be tried again")


def _is_exhaustion(failure: Exception) -> bool:
    """Python raises a plain RuntimeError when the system gives it no thread."""
    if isinstance(failure, OSError):
        return failure.errno in _EXHAUSTED
    return isinstance(failure, MemoryError) or "can't start new thread" in str(failure)


def error_response(error: ServiceError, request_id: str, path: str) -> Response:
    """The response to a failed request for `path`."""
    headers = {"WWW-Authenticate": "Bearer"} if error.status == KeyRequired.status else {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    return _json(path, Failure.of(error, request_id), headers)


def refused(request: Request, error: ServiceError, metrics: Metrics) -> Response:
    """The response to a request whose route raised this error; counts rejections."""
    if error.is_rejection:
        metrics.count_rejected(error.code)
    return error_response(error, request.state.request_id, request.scope["path"])


def install_error_handlers(app: FastAPI, metrics: Metrics) -> None:
    """Answer every error of the app's routes in the format of its API."""

    async def on_service_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ServiceError)
        return refused(request, error, metrics)

    async def on_http_exception(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path, code = request.scope["path"], _HTTP_CODES.get(error.status_code, "http_error")
        phrase = HTTPStatus(error.status_code).phrase.lower()
        message = printable(f"{request.method} {shown(path)}: {phrase}")
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the router names only one route's
            headers["Allow"] = ", ".join(_methods_of(app, request.scope))
        failure = Failure(error.status_code, message, code, request.state.request_id)
        return _json(path, failure, headers)

    async def on_escaped(request: Request, error: Exception) -> Response:
        """What the middlewares raise."""
        request_id = request.scope.get("state", {}).get("request_id", NO_ID)
        return error_response(error_of(error), request_id, request.scope["path"])

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        ServiceError: on_service_error,
        HTTPException: on_http_exception,
        Exception: on_escaped,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _methods_of(app: FastAPI, scope: Scope) -> list[str]:
    """The methods that the path of the request has."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.routes)
    ]


def _json(path: str, failure: Failure, headers: dict[str, str]) -> Response:
    status, body = render_failure(path, failure)
    return Response(to_json(body), status, headers, "application/json")
