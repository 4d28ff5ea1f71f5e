"""What happens to every request before its body is read, and after its answer.

Plain ASGI, because Starlette's BaseHTTPMiddleware hides the client's disconnect from the route.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ClientGone, NotFound, ServiceError
from service.http.access.caller import Caller
from service.http.error_answers import DEEPL, DEEPL_3, error_response, unforeseen
from service.http.origins import OriginRule
from service.http.request_log import REQUEST_ID_HEADER, RequestRecord, request_id_of
from service.http.state import ServerState

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""They tell browsers what they may not do with an answer."""
_METRICS, _PROBES = "/metrics", "/health"


@dataclass(frozen=True)
class Paths:
    """Paths, and prefixes that stand for the paths below them.

    `named`: those that metrics name; `work`: their POST needs the engines; `open`: they need no key
    and count for no limit; `linked`: pages of other origins may ask for them too, as for open ones;
    `keyed`: their POST may have the key in its body.
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


class SecurityHeadersMiddleware:
    """Adds SECURITY_HEADERS to every HTTP answer that does not have its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                own = {name.lower() for name, _ in headers}
                added = [header for header in SECURITY_HEADERS if header[0] not in own]
                message = {**message, "headers": [*headers, *added]}
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class RequestMiddleware:
    """Gives each request an id, a record and a caller, refuses it before its body is read if the
    server is full or stopping or may not serve it, and answers every error.

    `metrics_port`: the port where only the metrics and the probes are served, if they have one.
    """

    def __init__(
        self,
        app: ASGIApp,
        state: ServerState,
        paths: Paths,
        origins: OriginRule,
        metrics_port: int | None,
    ) -> None:
        self._app, self._state = app, state
        self._paths, self._origins, self._metrics_port = paths, origins, metrics_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
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
        if scope["path"].startswith("//"):  # the server's address was written with a slash
            scope["path"] = "/" + scope["path"].lstrip("/")
        if scope["path"].startswith((DEEPL, DEEPL_3)):  # which takes a slash at the end
            scope["path"] = scope["path"].rstrip("/")
        path, record = scope["path"], self._record(scope)
        extra = {REQUEST_ID_HEADER: record.request_id}
        state = scope.setdefault("state", {})
        state.update(record=record, request_id=record.request_id, response_headers=extra)
        caller: Caller | None = None

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                added = [(name.lower().encode(), value.encode()) for name, value in extra.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            self._check(scope)
            if not self._paths.is_open(path):
                caller = state["caller"] = self._state.access.caller(scope)
                may_have_key_in_body = self._paths.may_have_key_in_body(scope["method"], path)
                await caller.enter(scope, may_have_key_in_body=may_have_key_in_body)
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            record.status = None
        except Exception as failure:
            await self._answer_failure(failure, record, scope, receive, send_with_headers)
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
            refusal = self._state.dispatcher.refusal()
            if refusal is not None:
                raise refusal
        if not self._is_at_its_port(scope):
            raise NotFound("not found on this port")
        is_for_pages = self._paths.is_open(path) or path.startswith(self._paths.linked_below)
        self._origins.check(scope, is_open=is_for_pages)

    async def _answer_failure(
        self, failure: Exception, record: RequestRecord, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer an error, unless the answer has begun; log it if no code foresaw it."""
        if isinstance(failure, ServiceError) and record.status is None:
            error, is_foreseen = failure, True
        else:
            error, is_foreseen = unforeseen(failure, record.request_id), False
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
