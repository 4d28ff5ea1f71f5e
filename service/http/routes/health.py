"""GET /health, /health/live and /health/ready."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from service.http.state import StateDep

router = APIRouter()


class Health(BaseModel):
    status: str = "ok"


@router.get("/health")
@router.head("/health")
async def health(state: StateDep) -> Health:
    """LibreTranslate's probe: the same answer as /health/ready."""
    return await ready(state)


@router.get("/health/live")
@router.head("/health/live")
async def live() -> Health:
    """Always 200: the process is alive."""
    return Health()


@router.get("/health/ready")
@router.head("/health/ready")
async def ready(state: StateDep) -> Health:
    """200 if every model accepts requests, else 503."""
    for name, engine in state.engines.items():
        engine.require_ready(name)
    return Health()
