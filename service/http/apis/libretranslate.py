"""LibreTranslate's other routes: /detect, /languages, /frontend/settings, /spec and /suggest."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from service.documents.formats import FORMATS
from service.errors import InvalidField, SuggestionsOff
from service.http.bodies import JSON
from service.http.language_names import language_name
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    Offer,
    Schema,
    describe_body,
    describe_errors,
)
from service.http.request_fields import (
    NO_SPACE,
    LanguageCode,
    PreferredLanguages,
    RequestModel,
    listed,
)
from service.http.requests import read_request
from service.http.routers import described_router, with_heads
from service.http.state import server_state
from service.stores.suggestions import MAX_CHARACTERS, SuggestedPair
from service.translation.job import AUTO, TextFormat
from service.translation.language.detection import DetectedLanguage

DETECT, SUGGEST = "/detect", "/suggest"
LANGUAGES, SETTINGS, SPEC = "/languages", "/frontend/settings", "/spec"
_TITLE = "LibreTranslate"
_FRONTEND_TIMEOUT_MILLISECONDS = 500
_ANY_JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}}}
}


class DetectRequest(RequestModel):
    """The text whose language is asked for."""

    unreported = ("secret",)

    q: str = Field(description="A text.")
    preferred_languages: PreferredLanguages = None


class Language(BaseModel):
    """A source language and its target languages, without itself."""

    code: str
    name: str
    targets: list[str]


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


_Suggested = Annotated[str, Field(max_length=MAX_CHARACTERS)]


class SuggestRequest(RequestModel):
    """A text `q`, and `s`, which it should be translated to."""

    unreported = ("secret",)

    q: _Suggested
    s: _Suggested
    source: LanguageCode
    target: LanguageCode
    format: TextFormat = "text"


def make_detect_router(offer: Offer) -> APIRouter:
    router = described_router("Translation", *WITH_ACCESS)
    router.add_api_route(
        DETECT,
        detect,
        methods=["POST"],
        response_model=list[DetectedLanguage],
        responses=describe_errors(*WITH_BODY),
        openapi_extra=describe_body(DetectRequest, offer, {"q": "Wie geht es dir?"}),
    )
    return router


def make_languages_router() -> APIRouter:
    router = described_router("Translation")
    router.get(LANGUAGES)(languages)
    return with_heads(router)


def make_settings_router(*, has_spec: bool) -> APIRouter:
    """Make the routes that LibreTranslate's clients ask for first."""
    router = described_router(_TITLE)
    router.get(SETTINGS)(frontend_settings)
    if has_spec:
        router.get(SPEC, response_class=Response, responses=_ANY_JSON)(spec)
    return with_heads(router)


def make_suggest_router(offer: Offer, *, is_on: bool) -> APIRouter:
    """Make the route; where suggestions are off, it is not described and refuses all, as
    LibreTranslate's does."""
    router = described_router(_TITLE, *WITH_ACCESS, is_described=is_on)
    if not is_on:
        router.add_api_route(SUGGEST, refuse, methods=["POST"])
        return router
    example = {"q": "Hi.", "s": "Servus.", "source": "en", "target": "de"}
    text: Schema = {"type": "string", "maxLength": MAX_CHARACTERS, "pattern": NO_SPACE}
    changed = {"q": text, "s": text}
    if offer.languages:
        changed["source"] = {"type": "string", "enum": list(offer.languages)}
    described = describe_body(SuggestRequest, offer, example, changed)
    errors = describe_errors(*WITH_BODY)
    router.add_api_route(
        SUGGEST, suggest, methods=["POST"], responses=errors, openapi_extra=described
    )
    return router


async def detect(request: Request) -> list[DetectedLanguage]:
    """The likeliest of the server's languages, in a list of one.

    The text is sent as JSON, as a form, or in the query.
    """
    state = server_state(request)
    wanted = await read_request(request, DetectRequest)
    state.limits.check_length("q", [wanted.q])
    preferred = listed(wanted.preferred_languages)
    (found,) = await state.dispatcher.detect([wanted.q], preferred=preferred)
    return [DetectedLanguage(language=found.language, confidence=found.confidence)]


async def languages(request: Request) -> list[Language]:
    """All source languages. A target is reached directly or through another language."""
    return [
        Language(code=code, name=language_name(code), targets=targets)
        for code, targets in server_state(request).dispatcher.routes.targets.items()
    ]


async def frontend_settings(request: Request) -> FrontendSettings:
    """The server's limits and abilities, for LibreTranslate's page and clients."""
    state = server_state(request)
    targets = state.dispatcher.routes.targets
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
            source=NamedLanguage(code=AUTO, name="Auto Detect"),
            target=NamedLanguage(code=target, name=language_name(target)),
        ),
    )


async def spec(request: Request) -> Response:
    """The OpenAPI document with LibreTranslate's title, by which clients know its API."""
    document = await asyncio.to_thread(request.app.openapi)
    titled = {**document, "info": {**document["info"], "title": _TITLE}}
    return Response(to_json(titled), media_type=JSON)


async def refuse(_: Request) -> None:
    """Always 403: this server does not store suggestions."""
    raise SuggestionsOff("Suggestions are disabled on this server.")


async def suggest(request: Request) -> dict[str, bool]:
    """Store a suggestion, which is used once the operator has approved it."""
    state = server_state(request)
    store = state.suggested.store
    assert store is not None  # the router has the route only then
    asked = await read_request(request, SuggestRequest)
    source = state.dispatcher.known_language("source", asked.source)
    target = state.dispatcher.known_language("target", asked.target)
    if not asked.q.strip() or not asked.s.strip():
        raise InvalidField("q and s must have more than spaces")
    pair = SuggestedPair(source, target, asked.format, asked.q)
    if not await asyncio.to_thread(store.add, pair, asked.s):
        raise SuggestionsOff("No more suggestions can be stored.")
    return {"success": True}
