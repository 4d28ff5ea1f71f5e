"""POST /suggest: store a better translation, in LibreTranslate's format."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Request
from pydantic import Field

from model.text.languages import MAX_CODE_CHARACTERS
from service.errors import InvalidField, SuggestionsOff
from service.http.fields import NO_SPACE
from service.http.openapi import describe_errors
from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.state import server_state
from service.stores.suggestions import MAX_CHARACTERS, SuggestedPair
from service.translation.job import TextFormat

_PATH = "/suggest"
_QUIET = ("api_key", "secret")
Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]
Text = Annotated[str, Field(max_length=MAX_CHARACTERS)]


class SuggestRequest(RequestModel):
    """A text `q`, and `s`, which it should be translated to."""

    q: Text
    s: Text
    source: Code
    target: Code
    format: TextFormat = "text"


_EXAMPLE = {"q": "Hi.", "s": "Servus.", "source": "en", "target": "de"}


def make_router(languages: Sequence[str], *, is_on: bool) -> APIRouter:
    """Make the route, whose description names the languages; where suggestions are off, it is not
    described and refuses all, as LibreTranslate's does."""
    router = APIRouter()
    if is_on:
        errors, described = describe_errors(400, 413, 415, 422), _describe(languages)
        router.add_api_route(
            _PATH, suggest, methods=["POST"], responses=errors, openapi_extra=described
        )
    else:
        router.add_api_route(_PATH, refuse, methods=["POST"], include_in_schema=False)
    return router


async def refuse() -> None:
    """Always 403: this server does not store suggestions."""
    raise SuggestionsOff("Suggestions are disabled on this server.")


async def suggest(request: Request) -> dict[str, bool]:
    """Store a suggestion, which is used once the operator has approved it."""
    state = server_state(request)
    store = state.suggested.store
    assert store is not None  # `make_router` has the route only then
    fields = await read_fields(request, state.limits)
    asked = fields.parse(request, SuggestRequest, _QUIET)
    source = state.dispatcher.known_language("source", asked.source)
    target = state.dispatcher.known_language("target", asked.target)
    if not asked.q.strip() or not asked.s.strip():
        raise InvalidField("q and s must have more than spaces")
    pair = SuggestedPair(source, target, asked.format, asked.q)
    if not await asyncio.to_thread(store.add, pair, asked.s):
        raise SuggestionsOff("No more suggestions can be stored.")
    return {"success": True}


def _describe(languages: Sequence[str]) -> dict[str, Any]:
    text = {"type": "string", "maxLength": MAX_CHARACTERS, "pattern": NO_SPACE}
    code = {"type": "string", "enum": list(languages)}
    written = {"type": "string", "enum": list(get_args(TextFormat)), "default": "text"}
    required = {"q": text, "s": text, "source": code, "target": code}
    with_null = {"anyOf": [written, {"type": "null"}]}
    content = {
        kind: {
            "schema": {
                "type": "object",
                "required": list(required),
                "properties": required | {"format": one},
            },
            "example": _EXAMPLE,
        }
        for kind, one in ((JSON, with_null), (FORM, written))
    }
    return {"requestBody": {"required": True, "content": content}}
