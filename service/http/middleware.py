"""What happens to every request before its body is read, and after its answer.

Plain ASGI, because Starlette's BaseHTTPMiddleware hides the client's disconnect from the route.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import ClientGone, ForeignPage, NotFound, ServiceError, drop_frames
from service.http.access.caller import TOKEN_FIELD
from service.http.error_answers import (
    DEEPL,
    DEEPL_3,
    GOOGLE,
    SECURITY_HEADERS,
    as_service_error,
    error_response,
    unforeseen,
)
from service.http.exchange import Exchange
from service.http.head import HeaderValues, headers_of
from service.http.origins import OriginRule
from service.http.paths import Paths
from service.http.request_log import ID_HEADER, RequestRecord
from service.http.state import ServerState

_METRICS, _PROBES = "/metrics", "/health"
_KEYED_PATH = re.compile(r"/(?P<key>drg_[0-9a-f]+_[0-9a-f]+)(?P<path>(?:/v[12])?/translate)")


class RequestMiddleware:
    """Gives each request an id, a record and a caller, refuses it before its body is read if the
    server is full or stopping or may not serve it, and answers every error.

    `metrics_port`: the port where only the metrics and the probes are served, if they have one;
    `metrics_origins`: the rule there.
    `cors`: what CORSMiddleware lets pages of other origins do; None: nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        state: ServerState,
        paths: Paths,
        origins: OriginRule,
        metrics_port: int | None,
        metrics_origins: OriginRule,
        cors: Mapping[str, Any] | None,
    ) -> None:
        self._app, self._state = app, state
        self._paths, self._origins = paths, origins
        self._metrics_port, self._metrics_origins = metrics_port, metrics_origins
        self._cors = _Cors(self._serve, **cors) if cors else None
        self._answer: ASGIApp = self._cors or self._serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rules = self._paths.named_rules.get(scope["path"])
            if rules is None:
                _tidy(scope)
                rules = self._paths.rules(scope["path"])
            exchange = Exchange(scope, receive, send, rules)
            scope.setdefault("state", {}).update(exchange=exchange, record=exchange.record)
            await self._answer(scope, exchange.receive, exchange.send)
            if exchange.is_end_withheld:
                await exchange.end()
            del scope["state"]["exchange"]  # it has methods of an object that has the scope
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await self._serve_websocket(scope, receive, send)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a websocket; one that is refused before it is accepted is answered and logged."""
        headers, path = headers_of(scope), scope["path"]
        try:
            if not self._is_at_its_port(scope):
                raise NotFound("not found on this port")
            self._origins.check(scope, headers, is_open=False)
            await self._app(scope, receive, send)
        except ServiceError as error:
            drop_frames(error)
            self._count(error)
            record = RequestRecord.of(scope, headers, self._paths.rules(path).label)
            record.status = error.status
            answer = error_response(error, record.request_id, path)
            answer.raw_headers += [(ID_HEADER, record.request_id.encode()), *SECURITY_HEADERS]
            await answer(scope, receive, send)
            self._state.request_log.enter(record)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["state"]["exchange"]
        record, rules, entered = exchange.record, exchange.rules, None
        exchange.added[ID_HEADER] = record.request_id.encode()
        try:
            caller = self._state.access.caller(scope)
            self._check(scope, exchange, caller.client.name)
            if self._cors is not None and _is_preflight(scope, exchange.headers):
                await self._cors.answer_preflight(scope, receive, exchange.send)
                return
            if not rules.is_open:
                scope["state"]["caller"] = caller
            if not (rules.is_open or self._state.access.is_open):
                entered = caller
                may_have_key_in_body = rules.is_keyed and scope["method"] == "POST"
                await caller.enter(
                    scope, exchange.headers, may_have_key_in_body=may_have_key_in_body
                )
            await self._app(scope, receive, send)
        except ClientDisconnect:
            record.status = None
        except Exception as failure:
            await self._answer_failure(failure, record, scope, receive, send)
        finally:
            if entered is not None:
                await entered.leave(record.status, has_delivered=record.has_delivered)
            if record.status is None:
                record.status = ClientGone.status
            self._state.request_log.enter(record)

    def _check(self, scope: Scope, exchange: Exchange, client: str) -> None:
        """The checks that cost a client nothing of its limits. Raises a ServiceError."""
        rules = exchange.rules
        if rules.is_work and scope["method"] == "POST":
            self._state.dispatcher.require_room(client)
        origins = self._origins
        if self._metrics_port is not None:
            if not self._is_at_its_port(scope):
                raise NotFound("not found on this port")
            if scope["server"][1] == self._metrics_port:
                origins = self._metrics_origins
        origins.check(scope, exchange.headers, is_open=rules.is_linked)

    async def _answer_failure(
        self, failure: Exception, record: RequestRecord, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer an error, unless the answer has begun; log it if no code foresaw it."""
        error = as_service_error(failure, scope) if record.status is None else None
        is_foreseen = error is not None
        error = error or unforeseen(failure, record.request_id)
        drop_frames(failure)
        if record.status is None:
            self._count(error)
            answer = error_response(error, record.request_id, scope["path"], scope["method"])
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


class _Cors(CORSMiddleware):
    """Lets preflights through, so that they are checked and recorded as other requests."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.simple_response(scope, receive, send, Headers(scope=scope))

    async def answer_preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ForeignPage."""
        answer = self.preflight_response(Headers(scope=scope))
        if answer.status_code != HTTPStatus.OK:
            raise ForeignPage(f"{bytes(answer.body).decode()} (setting cors_origins)")
        await answer(scope, receive, send)


def record_refused(
    state: ServerState, paths: Paths, error: ServiceError, request_id: str, path: str
) -> None:
    """Record a request that was refused before the app got it."""
    if error.is_rejection:
        state.metrics.count_rejected(error.code)
    record = RequestRecord(request_id, "GET", paths.rules(path).label, status=error.status)
    state.request_log.enter(record)


def _is_preflight(scope: Scope, headers: HeaderValues) -> bool:
    asks = b"origin" in headers and b"access-control-request-method" in headers
    return asks and scope["method"] == "OPTIONS"


def _tidy(scope: Scope) -> None:
    """Remove a second slash at the beginning of the path, which a server's address may end with,
    and one at the end of DeepL's and Google's paths. A key before DeepLX's path goes to the query,
    where these clients may send it, too."""
    path: str = scope["path"]
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    if keyed := _KEYED_PATH.fullmatch(path):
        path = keyed["path"]
        scope["query_string"] = f"{TOKEN_FIELD}={keyed['key']}&".encode() + scope["query_string"]
    scope["path"] = path.rstrip("/") if path.startswith((DEEPL, DEEPL_3, GOOGLE)) else path
