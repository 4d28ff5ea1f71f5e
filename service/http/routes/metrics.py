"""GET /metrics, for Prometheus."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from service.http.state import StateDep

_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Every metric, one a line.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


async def own_metrics(state: StateDep) -> bytes:
    """The metrics of this server; deployments with several servers override this dependency."""
    return state.metrics.render()


def make_router(*, is_described: bool) -> APIRouter:
    """Make the route. `is_described`: whether it is served where the description is."""
    router = APIRouter(include_in_schema=is_described)
    for method in (router.get, router.head):
        method("/metrics", response_class=Response, responses=_PAGE)(metrics)
    return router


async def metrics(page: Annotated[bytes, Depends(own_metrics)]) -> Response:
    """All metrics in the Prometheus text format."""
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})
