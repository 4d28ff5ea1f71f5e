"""Calls the endpoint of a frequent request without the router and FastAPI's middleware.

Their layers keep an exit stack, look through the routes and wrap `send` twice for each request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import ServiceError
from service.http.error_handlers import refused
from service.observability.metrics import Metrics

Endpoint = Callable[[Request], Awaitable[Response]]


class DirectRoutes:
    """Answers a POST to one of the paths; all else goes to the app. Stands inside all other
    middleware."""

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, Endpoint], metrics: Metrics) -> None:
        self._app, self._endpoints, self._metrics = app, endpoints, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        endpoint = self._endpoints.get(scope["path"]) if is_post else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except ServiceError as error:
            response = refused(request, error, self._metrics)
        await response(scope, receive, send)
