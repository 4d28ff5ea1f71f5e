"""GET /health, /health/live, /health/ready and /metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.responses import Response

from service.http.state import StateDep

health_router = APIRouter()
_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Every metric, one a line.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


class Health(BaseModel):
    status: str = "ok"


@health_router.get("/health")
@health_router.head("/health")
async def health(state: StateDep) -> Health:
    """LibreTranslate's probe: the same answer as /health/ready."""
    return await ready(state)


@health_router.get("/health/live")
@health_router.head("/health/live")
async def live() -> Health:
    """Always 200: the process is alive."""
    return Health()


@health_router.get("/health/ready")
@health_router.head("/health/ready")
async def ready(state: StateDep) -> Health:
    """200 if every model accepts requests, else 503."""
    for name, engine in state.engines.items():
        engine.require_ready(name)
    return Health()


async def own_metrics(state: StateDep) -> bytes:
    """The metrics of this server; deployments with several servers override this dependency."""
    return state.metrics.render()


def make_metrics_router(*, is_described: bool) -> APIRouter:
    """Make the route. `is_described`: whether it is served where the description is."""
    router = APIRouter(include_in_schema=is_described)
    for method in (router.get, router.head):
        method("/metrics", response_class=Response, responses=_PAGE)(metrics)
    return router


async def metrics(page: Annotated[bytes, Depends(own_metrics)]) -> Response:
    """All metrics in the Prometheus text format."""
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})
