"""POST /suggest: refused as LibreTranslate refuses it where suggestions are off."""

from __future__ import annotations

from fastapi import APIRouter

from service.errors import SuggestionsOff
from service.http.openapi import describe_errors

router = APIRouter()


@router.post("/suggest", status_code=403, response_model=None, responses=describe_errors(403))
async def suggest() -> None:
    """Always 403: this server does not store suggestions."""
    raise SuggestionsOff("Suggestions are disabled on this server.")
