"""GET /health, /health/live, /health/ready and /metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.responses import Response

from service.http.bodies import JSON
from service.http.routing import described_router
from service.http.state import server_state

HEALTH, LIVE, READY = "/health", "/health/live", "/health/ready"
METRICS = "/metrics"
_OK = b'{"status":"ok"}'
_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Every metric, one a line.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


class Health(BaseModel):
    status: str = "ok"


def make_health_router() -> APIRouter:
    """Make the routes of the probes, which are asked often and cost little."""
    router = described_router("Operation")
    for path, endpoint in {HEALTH: health, LIVE: live, READY: ready}.items():
        for method in (router.get, router.head):
            method(path, response_model=Health)(endpoint)
    return router


async def health(request: Request) -> Response:
    """LibreTranslate's probe: the same answer as /health/ready."""
    return await ready(request)


async def live(_: Request) -> Response:
    """Always 200: the process is alive."""
    return Response(_OK, media_type=JSON)


async def ready(request: Request) -> Response:
    """200 if every model accepts requests, else 503."""
    for name, engine in server_state(request).engines.items():
        engine.require_ready(name)
    return Response(_OK, media_type=JSON)


def make_metrics_router(*, is_described: bool) -> APIRouter:
    """Make the route. `is_described`: whether it is served where the description is."""
    router = described_router("Operation", is_described=is_described)
    for method in (router.get, router.head):
        method(METRICS, response_class=Response, responses=_PAGE)(metrics)
    return router


async def metrics(request: Request) -> Response:
    """All metrics in the Prometheus text format."""
    gather = request.app.state.gather_metrics
    page = await gather() if gather else server_state(request).metrics.render()
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})
