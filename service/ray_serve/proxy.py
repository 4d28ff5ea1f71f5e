"""Middleware for Ray's HTTP proxy: gives Ray's own answers the form of the server's errors.

Ray itself answers if all replicas are full or unavailable. It does not answer if a request's
replica is lost. An environment variable installs the middleware in the cluster's proxies:

    RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH=service.ray_serve.proxy:middlewares
"""

from __future__ import annotations

from fastapi.sse import format_sse_event
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import DeadlineExceeded, NotReady, Overloaded, ReplicaLost, ServiceError
from service.http.answers import render_error
from service.http.error_answers import error_response
from service.http.head import headers_of
from service.http.request_log import REQUEST_ID_HEADER, request_id_of
from service.http.routes.websocket import LEAVING
from service.http.translating import EVENT_STREAM

_RAYS_OWN_PATHS = "/-/"


def middlewares() -> list[Middleware]:
    """The middleware that Ray adds to its proxy."""
    return [Middleware(ErrorForm)]


class ErrorForm:
    """The proxy's outermost middleware: passes replicas' answers on and replaces Ray's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(_RAYS_OWN_PATHS):
            await self._app(scope, receive, send)
            return
        answer = _Answer(scope, receive, send)
        await self._app(scope, answer.receive, answer.send)
        await answer.finish()


class _Answer:
    """One answer to the client, HTTP or websocket."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._error: ServiceError | None = None
        self._is_begun = self._is_done = self._is_stream = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"].endswith(".disconnect"):
            self._is_done = True
        return message

    async def send(self, message: Message) -> None:
        """Pass a message on, unless it is Ray's own."""
        match message["type"]:
            case "http.response.start":
                self._error = _error_of(message)
                self._is_stream = EVENT_STREAM in Headers(scope=message).get("content-type", "")
                _keep_first_id(message)
            case "http.response.body":
                self._is_done = not (message.get("more_body") or self._error)
            case "websocket.close":
                self._is_done = True
        if self._error is None:
            self._is_begun = True
            await self._send(message)

    async def finish(self) -> None:
        """Send Ray's error in the server's form, or ReplicaLost if the answer is incomplete."""
        if self._is_done:
            return
        error = self._error or ReplicaLost("the replica was lost; the request may be tried again")
        if not self._is_begun:
            request_id = request_id_of(headers_of(self._scope))
            path, method = self._scope["path"], self._scope["method"]
            answer = error_response(error, request_id, path, method)
            answer.headers[REQUEST_ID_HEADER] = request_id
            await answer(self._scope, self._receive, self._send)
        elif self._scope["type"] == "websocket":
            await self._send({"type": "websocket.close", "code": LEAVING, "reason": str(error)})
        elif self._is_stream:
            event = format_sse_event(data_str=render_error(error), event="error")
            await self._send({"type": "http.response.body", "body": event})


def _error_of(start: Message) -> ServiceError | None:
    """The error for Ray's plain-text answer; None for a replica's answer (its errors are JSON)."""
    headers, status = Headers(scope=start), start["status"]
    if not headers.get("content-type", "").startswith("text/plain"):
        return None
    if status == 503 and "retry-after" in headers:
        return Overloaded("every replica is full, and so is the line for them; try again later")
    if status == 503:
        return NotReady("no replica takes requests; try again later")
    return DeadlineExceeded("Ray's request_timeout_s is over") if status == 408 else None


def _keep_first_id(start: Message) -> None:
    """Keep the replica's request id: Ray adds a second header."""
    headers = MutableHeaders(scope=start)
    if request_id := headers.get(REQUEST_ID_HEADER):
        headers[REQUEST_ID_HEADER] = request_id
