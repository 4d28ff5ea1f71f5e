"""GET /metrics, for Prometheus."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from service.http.state import StateDep

router = APIRouter()

_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Every metric, one a line.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


async def own_metrics(state: StateDep) -> bytes:
    """The metrics of this server; deployments with several servers override this dependency."""
    return state.metrics.render()


@router.get("/metrics", response_class=Response, responses=_PAGE)
@router.head("/metrics", response_class=Response, responses=_PAGE)
async def metrics(page: Annotated[bytes, Depends(own_metrics)]) -> Response:
    """All metrics in the Prometheus text format."""
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})
