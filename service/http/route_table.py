"""All routes of the server, the metrics' names of their paths, and which of them need an engine."""

from __future__ import annotations

from fastapi import FastAPI

from service.http.middleware import Endpoints
from service.http.openapi import describe_translate
from service.http.routes import (
    detect,
    files,
    frontend,
    health,
    languages,
    metrics,
    suggest,
    translate,
    websocket,
)
from service.http.state import ServerState

_WORK = frozenset({translate.PATH, files.PATH})
ENDPOINTS = Endpoints(
    paths=_WORK
    | {
        *("/detect", "/languages", "/frontend/settings", "/spec", "/suggest"),
        *("/health", "/health/live", "/health/ready", "/metrics", "/docs", "/openapi.json"),
    },
    prefixes=(files.DOWNLOADS,),
    work=_WORK,
)
_ROUTERS = (
    *(websocket.router, languages.router, health.router, metrics.router),
    *(frontend.router, suggest.router, files.router),
)


def install_routes(app: FastAPI, state: ServerState) -> None:
    """Add every route to the app."""
    # Matches before the router's route, which only documents it: FastAPI's dispatch costs more.
    app.add_route(translate.PATH, translate.translate, ["POST"], include_in_schema=False)
    description = describe_translate(state.limits, state.dispatcher.languages, list(state.engines))
    app.include_router(translate.make_router(description))
    app.include_router(detect.make_router(state.limits.max_characters))
    for router in _ROUTERS:
        app.include_router(router)
