"""GET /health, /health/live, /health/ready, /metrics and /models, and POST
/admin/models/NAME/reload."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field
from starlette.responses import Response

from service.errors import InvalidField, InvalidKey, KeyRequired
from service.http.bodies import JSON
from service.http.openapi import WITH_ACCESS, describe_errors
from service.http.routers import described_router, with_heads
from service.http.state import server_state
from service.models.served import ModelState

HEALTH, LIVE, READY = "/health", "/health/live", "/health/ready"
METRICS = "/metrics"
MODELS, ADMIN = "/models", "/admin/models/"
_RELOAD = ADMIN + "{name}/reload"
_ONLY_ADMIN = "models are loaded again only for the key of an admin"
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
    router.get(HEALTH, response_model=Health)(health)
    router.get(LIVE, name="health_live", response_model=Health)(live)
    router.get(READY, name="health_ready", response_model=Health)(ready)
    return with_heads(router)


async def health(request: Request) -> Response:
    """LibreTranslate's probe: the same answer as /health/ready."""
    return await ready(request)


async def live(_: Request) -> Response:
    """Always 200: the process is alive."""
    return Response(_OK, media_type=JSON)


async def ready(request: Request) -> Response:
    """200 if there are models, and those in memory accept requests, else 503."""
    server_state(request).dispatcher.require_ready()
    return Response(_OK, media_type=JSON)


def make_metrics_router(*, is_described: bool) -> APIRouter:
    """Make the route. `is_described`: whether it is served where the description is."""
    router = described_router("Operation", is_described=is_described)
    router.get(METRICS, response_class=Response, responses=_PAGE)(metrics)
    return with_heads(router)


async def metrics(request: Request) -> Response:
    """All metrics in the Prometheus text format."""
    gather = request.app.state.gather_metrics
    page = await (gather or server_state(request).models.render_metrics)()
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})


class ModelStatus(BaseModel):
    """An offered model. `pinned`: it never leaves the memory; `bytes`: the memory that it takes, or
    would take."""

    name: str
    state: Literal["loaded", "loading", "stored"]
    pinned: bool
    bytes: int
    leases: int = Field(description="Requests that have it now.")
    sources: list[str]
    targets: list[str]


def make_models_router() -> APIRouter:
    router = described_router("Operation", *WITH_ACCESS)
    router.get(MODELS)(list_models)
    errors = describe_errors(InvalidField.status)
    router.post(_RELOAD, name="reload_model", responses=errors)(reload)
    return with_heads(router)


async def list_models(request: Request) -> list[ModelStatus]:
    """All models, those in memory and those that a request would load."""
    return [_status(state) for state in await server_state(request).models.states()]


async def reload(request: Request, name: str) -> ModelStatus:
    """Load a model of the store again, in the version that the store has now.

    Requests that have the old version end with it. Needs an admin's key.
    """
    state = server_state(request)
    if state.access.ring is None:
        raise KeyRequired(_ONLY_ADMIN)
    if not request.state.caller.owner.is_admin:
        raise InvalidKey(_ONLY_ADMIN)
    return _status(await state.models.reload(name))


def _status(model: ModelState) -> ModelStatus:
    return ModelStatus(
        name=model.name,
        state=model.state,
        pinned=model.is_pinned,
        bytes=model.num_bytes,
        leases=model.num_leases,
        sources=list(model.sources),
        targets=list(model.targets),
    )
