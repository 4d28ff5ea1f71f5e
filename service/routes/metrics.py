"""GET /metrics, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from service.routes.state import StateDep

router = APIRouter()


@router.get("/metrics", response_class=Response)
async def metrics(state: StateDep) -> Response:
    """All metrics in Prometheus' text format."""
    return Response(state.metrics.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})
