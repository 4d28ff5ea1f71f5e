"""GET /v2/languages and /v2/usage."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from service.http.languages import language_name
from service.http.request_fields import read_fields
from service.http.routes.deepl.fields import LanguagesRequest
from service.http.state import StateDep

_MOST_CHARACTERS = 10**12
"""DeepL's own limit of accounts without a limit."""
router = APIRouter(include_in_schema=False)


@router.get("/v2/languages")
@router.head("/v2/languages")
async def languages(request: Request, state: StateDep) -> list[dict[str, Any]]:
    """The source languages, or with type=target the target languages."""
    fields = await read_fields(request, state.limits)
    asked = fields.parse(request, LanguagesRequest, quiet=("auth_key",))
    targets = state.dispatcher.targets
    if asked.type == "source":
        return [_language(code) for code, reached in targets.items() if reached]
    reachable = {code for reached in targets.values() for code in reached}
    codes = [code for code in state.dispatcher.languages if code in reachable]
    return [{**_language(code), "supports_formality": False} for code in codes]


@router.get("/v2/usage")
@router.head("/v2/usage")
async def usage(request: Request) -> dict[str, int]:
    """What the caller's key has used this month, and its quota."""
    caller = request.state.caller
    return {
        "character_count": caller.used.characters,
        "character_limit": caller.quota or _MOST_CHARACTERS,
    }


def _language(code: str) -> dict[str, Any]:
    return {"language": code.upper(), "name": language_name(code)}
