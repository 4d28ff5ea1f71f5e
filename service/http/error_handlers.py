"""Error responses, in one format for all routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from service.errors import ServiceError, printable, shown
from service.observability.metrics import Metrics

_HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


class ErrorBody(BaseModel):
    """A message for people, a code for programs, and the request's id in the server's log.

    Only documents the output of `_json`, which skips validation to keep rejections cheap.
    """

    error: str
    code: str
    request_id: str


def error_response(error: ServiceError, request_id: str) -> Response:
    """The response to a failed request."""
    headers = {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    return _json(error.status, str(error), error.code, request_id, headers)


def install_error_handlers(app: FastAPI, metrics: Metrics) -> None:
    """Answer every error of the app's routes with an ErrorBody."""

    async def on_service_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ServiceError)
        if error.is_rejection:
            metrics.count_rejected(error.code)
        return error_response(error, request.state.request_id)

    async def on_http_exception(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _HTTP_CODES.get(error.status_code, "http_error")
        phrase = HTTPStatus(error.status_code).phrase.lower()
        message = f"{request.method} {shown(request.scope['path'])}: {phrase}"
        headers = dict(error.headers or {})
        operations = app.openapi()["paths"].get(request.scope["path"])
        if error.status_code == 405 and operations:  # the router names only one route's
            headers["Allow"] = ", ".join(sorted(operations)).upper()
        return _json(error.status_code, message, code, request.state.request_id, headers)

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        ServiceError: on_service_error,
        HTTPException: on_http_exception,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _json(
    status: int, message: str, code: str, request_id: str, headers: dict[str, str]
) -> Response:
    body = {"error": printable(message), "code": code, "request_id": request_id}
    return Response(to_json(body), status, headers, "application/json")
