"""What happens to every request before its body is read, and after its answer.

Plain ASGI, because Starlette's BaseHTTPMiddleware hides the client's disconnect from the route.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ClientGone, NotFound, ServiceError
from service.http.error_answers import (
    DEEPL,
    DEEPL_3,
    SECURITY_HEADERS,
    as_service_error,
    error_response,
    unforeseen,
)
from service.http.origins import OriginRule
from service.http.request_log import REQUEST_ID_HEADER, RequestRecord, request_id_of
from service.http.state import ServerState

_METRICS, _PROBES = "/metrics", "/health"
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


@dataclass(frozen=True)
class Paths:
    """Sets of paths; those that end in `_below` hold prefixes, for all paths that begin so.

    `named`: metrics have them as labels. `work`: a POST needs the engines. `open`: no key is
    needed, and no limit counts. `linked`: pages of other origins may ask for them, as for open
    ones. `keyed`: a POST may have its key in the body.
    """

    named: frozenset[str]
    named_below: tuple[str, ...]
    work: frozenset[str]
    open: frozenset[str]
    open_below: tuple[str, ...]
    linked_below: tuple[str, ...]
    keyed: frozenset[str]
    keyed_below: tuple[str, ...]

    def label(self, path: str) -> str:
        """The metrics' label of a path."""
        if path in self.named:
            return path
        return next((prefix for prefix in self.named_below if path.startswith(prefix)), "other")

    def is_open(self, path: str) -> bool:
        return path in self.open or path.startswith(self.open_below)

    def may_have_key_in_body(self, method: str, path: str) -> bool:
        return method == "POST" and (path in self.keyed or path.startswith(self.keyed_below))


class Exchange:
    """One request and its answer, whose status goes to the record. The answer gets SECURITY_HEADERS
    unless it has its own, and the headers of `added`.

    Closing a connection while the client sends resets it and loses the answer. So an answer that
    comes before the body was read is sent at once, but its end only when the rest of the body was
    received and discarded, or a limit of bytes or seconds is reached. Then the connection closes.
    """

    max_bytes = 32 * 2**20
    max_seconds = 5.0

    def __init__(self, record: RequestRecord, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self.record, self.added = record, dict[str, str]()
        self._receive, self._send = receive, send
        self._awaits_continue = "expect" in headers
        self._is_body_complete = not (
            headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        )
        self._is_end_withheld = False

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body", False):
            self._is_body_complete = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.record.status = message["status"]
            message["headers"] = [*message["headers"], *self._more_headers(message)]
            if not self._is_body_complete and not self._awaits_continue:
                await self._discard_what_has_come()  # receiving would send 100 Continue
            if not self._is_body_complete:
                message["headers"].append((b"connection", b"close"))
        elif not self._is_body_complete and not message.get("more_body", False):
            self._is_end_withheld = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def end(self) -> None:
        """Discard the rest of the body within the limits, and send the end of the answer."""
        if self._is_end_withheld:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.max_seconds):
                    await self._discard_body()
            await self._send(_END)

    def _more_headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        own = [name for name, _ in message["headers"]]
        added = [(name.lower().encode(), value.encode()) for name, value in self.added.items()]
        return added + [header for header in SECURITY_HEADERS if header[0] not in own]

    async def _discard_body(self) -> None:
        num_bytes = 0
        while not self._is_body_complete and num_bytes < self.max_bytes:
            num_bytes += len((await self.receive()).get("body", b""))

    async def _discard_what_has_come(self) -> None:
        """A small body usually arrives with the headers; then the connection can stay open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await self.receive()


class RequestMiddleware:
    """Gives each request an id, a record and a caller, refuses it before its body is read if the
    server is full or stopping or may not serve it, and answers every error.

    `metrics_port`: the port where only the metrics and the probes are served, if they have one.
    `cors`: what CORSMiddleware lets pages of other origins do; None: nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        state: ServerState,
        paths: Paths,
        origins: OriginRule,
        metrics_port: int | None,
        cors: Mapping[str, Any] | None,
    ) -> None:
        self._app, self._state = app, state
        self._paths, self._origins, self._metrics_port = paths, origins, metrics_port
        self._answer: ASGIApp = CORSMiddleware(self._serve, **cors) if cors else self._serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["path"] = _tidy(scope["path"])
            exchange = Exchange(self._record(scope), scope, receive, send)
            scope.setdefault("state", {}).update(record=exchange.record, exchange=exchange)
            await self._answer(scope, exchange.receive, exchange.send)
            await exchange.end()
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif self._is_at_its_port(scope):
            await self._serve_websocket(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000, "reason": ""})

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a websocket; one that is refused before it is accepted is answered and logged."""
        try:
            self._origins.check(scope, is_open=False)
            await self._app(scope, receive, send)
        except ServiceError as error:
            self._count(error)
            record = self._record(scope)
            record.status = error.status
            await error_response(error, record.request_id, scope["path"])(scope, receive, send)
            self._state.request_log.enter(record)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["state"]["exchange"]
        path, record, caller = scope["path"], exchange.record, None
        exchange.added[REQUEST_ID_HEADER] = record.request_id
        try:
            self._check(scope)
            if not self._paths.is_open(path):
                caller = scope["state"]["caller"] = self._state.access.caller(scope)
                may_have_key_in_body = self._paths.may_have_key_in_body(scope["method"], path)
                await caller.enter(scope, may_have_key_in_body=may_have_key_in_body)
            await self._app(scope, receive, send)
        except ClientDisconnect:
            record.status = None
        except Exception as failure:
            await self._answer_failure(failure, record, scope, receive, send)
        finally:
            if caller is not None:
                await caller.leave(record.status, has_delivered=record.has_delivered)
            if record.status is None:
                record.status = ClientGone.status
            self._state.request_log.enter(record)

    def _record(self, scope: Scope) -> RequestRecord:
        headers, endpoint = Headers(scope=scope), self._paths.label(scope["path"])
        traceparent = headers.get("traceparent")
        method = scope.get("method", "WS")
        return RequestRecord(request_id_of(headers), method, endpoint, traceparent)

    def _check(self, scope: Scope) -> None:
        """The checks that cost a client nothing of its limits. Raises a ServiceError."""
        path = scope["path"]
        if scope["method"] == "POST" and path in self._paths.work:
            self._state.dispatcher.require_room(self._state.access.caller(scope).name)
        if not self._is_at_its_port(scope):
            raise NotFound("not found on this port")
        is_for_pages = self._paths.is_open(path) or path.startswith(self._paths.linked_below)
        self._origins.check(scope, is_open=is_for_pages)

    async def _answer_failure(
        self, failure: Exception, record: RequestRecord, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer an error, unless the answer has begun; log it if no code foresaw it."""
        error = as_service_error(failure, scope) if record.status is None else None
        is_foreseen = error is not None
        error = error or unforeseen(failure, record.request_id)
        if record.status is None:
            self._count(error)
            answer = error_response(error, record.request_id, scope["path"])
            await answer(scope, receive, send)
        if not is_foreseen:
            record.status = error.status

    def _count(self, error: ServiceError) -> None:
        if error.is_rejection:
            self._state.metrics.count_rejected(error.code)

    def _is_at_its_port(self, scope: Scope) -> bool:
        if self._metrics_port is None:
            return True
        path: str = scope["path"]
        if scope["server"][1] == self._metrics_port:
            return path == _METRICS or path.startswith(_PROBES)
        return path != _METRICS


def _tidy(path: str) -> str:
    """Without a second slash at the beginning, which a server's address may end with, and without
    one at the end of DeepL's paths."""
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    return path.rstrip("/") if path.startswith((DEEPL, DEEPL_3)) else path
