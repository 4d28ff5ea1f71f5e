"""Checks the client of each HTTP request before its body is read."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import ServiceError
from service.http.access.access import Access
from service.http.access.addresses import client_address
from service.http.access.caller import Caller
from service.http.access.credentials import key_of_head
from service.http.error_handlers import error_response
from service.observability.metrics import Metrics


@dataclass(frozen=True)
class AccessPaths:
    """The paths that need no key and count for no limit, and those whose POST may have the key in
    its body. Prefixes stand for the paths below them."""

    open: frozenset[str]
    open_prefixes: tuple[str, ...]
    key_in_body: frozenset[str]
    key_in_body_prefixes: tuple[str, ...]

    def is_open(self, path: str) -> bool:
        return path in self.open or path.startswith(self.open_prefixes)

    def may_have_key_in_body(self, scope: Scope) -> bool:
        path = scope["path"]
        is_named = path in self.key_in_body or path.startswith(self.key_in_body_prefixes)
        return scope["method"] == "POST" and is_named


class AccessMiddleware:
    """Stores a Caller in the request's state, and answers if it is refused.

    Stands inside RequestMiddleware, whose record tells how the request ended.
    """

    def __init__(self, app: ASGIApp, access: Access, paths: AccessPaths, metrics: Metrics) -> None:
        self._app, self._access, self._paths, self._metrics = app, access, paths, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._paths.is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        state, record = scope["state"], scope["state"]["record"]
        caller = state["caller"] = caller_of(scope, self._access)
        app = self._app
        try:
            await caller.enter(
                key_of_head(scope), may_have_key_in_body=self._paths.may_have_key_in_body(scope)
            )
        except ServiceError as error:
            self._metrics.count_rejected(error.code)
            app = error_response(error, record.request_id, scope["path"])
        try:
            await app(scope, receive, send)
        finally:
            await caller.leave(record.status, has_delivered=record.has_delivered)


def caller_of(scope: Scope, access: Access) -> Caller:
    """The caller of a request or a websocket, by its address."""
    host, _ = scope.get("client") or (None, 0)
    return Caller(access, client_address(host))
