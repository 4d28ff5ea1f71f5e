"""GET /models, and POST /admin/models/NAME/reload."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from service.errors import InvalidField, InvalidKey, KeyRequired
from service.http.openapi import WITH_ACCESS, describe_errors
from service.http.routing import described_router
from service.http.state import ServerState, server_state

PATH, ADMIN = "/models", "/admin/models/"
_RELOAD = ADMIN + "{name}/reload"
_ONLY_ADMIN = "models are loaded again only for the key of an admin"


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


def make_router() -> APIRouter:
    router = described_router("Operation", *WITH_ACCESS)
    for method in (router.get, router.head):
        method(PATH)(list_models)
    errors = describe_errors(InvalidField.status)
    router.post(_RELOAD, responses=errors)(reload)
    return router


async def list_models(request: Request) -> list[ModelStatus]:
    """All models, those in memory and those that a request would load."""
    state = server_state(request)
    return [_status(state, name) for name in state.models.pool.models]


async def reload(request: Request, name: str) -> ModelStatus:
    """Load a model of the store again, in the version that the store has now.

    Requests that have the old version end with it. Needs an admin's key.
    """
    state = server_state(request)
    if state.access.ring is None:
        raise KeyRequired(_ONLY_ADMIN)
    if not request.state.caller.owner.is_admin:
        raise InvalidKey(_ONLY_ADMIN)
    await state.models.reload(name)
    return _status(state, name)


def _status(state: ServerState, name: str) -> ModelStatus:
    model = state.models.pool.models[name]
    offered = state.models.offered[name]
    held = model.resident
    return ModelStatus(
        name=name,
        state="loading" if model.is_loading else "loaded" if held else "stored",
        pinned=model.is_pinned,
        bytes=held.num_bytes if held else model.loadable.num_bytes,
        leases=held.num_leases if held else 0,
        sources=offered.sources,
        targets=sorted({target for _, target in offered.pairs}),
    )
