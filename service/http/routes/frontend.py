"""GET /frontend/settings and GET /spec: what LibreTranslate's clients ask for first."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from service.http.languages import language_name
from service.http.state import StateDep
from service.translation.documents.formats import FORMATS

router = APIRouter()
spec_router = APIRouter()

_TITLE = "LibreTranslate"
_FRONTEND_TIMEOUT_MILLISECONDS = 500
_ANY_JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}}}
}


class NamedLanguage(BaseModel):
    code: str
    name: str


class DefaultLanguages(BaseModel):
    """The languages that a page shows first."""

    source: NamedLanguage
    target: NamedLanguage


class FrontendSettings(BaseModel):
    """LibreTranslate's settings of its page; `frontendTimeout` is in milliseconds."""

    charLimit: int
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: DefaultLanguages


@router.get("/frontend/settings")
@router.head("/frontend/settings")
async def frontend_settings(state: StateDep) -> FrontendSettings:
    """The server's limits and abilities, for LibreTranslate's page and clients."""
    targets = state.dispatcher.targets
    target = next((codes[0] for codes in targets.values() if codes), "en")
    return FrontendSettings(
        charLimit=state.limits.max_characters,
        frontendTimeout=_FRONTEND_TIMEOUT_MILLISECONDS,
        apiKeys=state.access.ring is not None,
        keyRequired=state.access.is_key_required,
        suggestions=state.suggested.store is not None,
        filesTranslation=True,
        supportedFilesFormat=list(FORMATS),
        language=DefaultLanguages(
            source=NamedLanguage(code="auto", name="Auto Detect"),
            target=NamedLanguage(code=target, name=language_name(target)),
        ),
    )


@spec_router.get("/spec", response_class=Response, responses=_ANY_JSON)
@spec_router.head("/spec", response_class=Response, responses=_ANY_JSON)
async def spec(request: Request) -> Response:
    """The OpenAPI document with LibreTranslate's title, by which clients know its API."""
    document = request.app.openapi()
    titled = {**document, "info": {**document["info"], "title": _TITLE}}
    return Response(to_json(titled), media_type="application/json")
