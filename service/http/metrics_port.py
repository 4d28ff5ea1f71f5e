"""Keeps the metrics on a port of their own, where nothing else but the probes is served."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import NotFound
from service.http.error_handlers import error_response

_METRICS, _PROBES = "/metrics", "/health"


class MetricsPortMiddleware:
    """Answers 404 to a request for the other port. Stands inside RequestMiddleware."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app, self._port = app, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._is_at_its_port(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": ""})
        else:
            error = NotFound("not found on this port")
            answer = error_response(error, scope["state"]["request_id"], scope["path"])
            await answer(scope, receive, send)

    def _is_at_its_port(self, scope: Scope) -> bool:
        path: str = scope["path"]
        if scope["server"][1] == self._port:
            return path == _METRICS or path.startswith(_PROBES)
        return path != _METRICS
