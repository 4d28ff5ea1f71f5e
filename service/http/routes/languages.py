"""GET /languages, in LibreTranslate's format."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from service.http.languages import language_name
from service.http.state import StateDep

router = APIRouter()


class Language(BaseModel):
    """A source language and its target languages, without itself."""

    code: str
    name: str
    targets: list[str]


@router.get("/languages")
@router.head("/languages")
async def languages(state: StateDep) -> list[Language]:
    """All source languages. A target is reached directly or by a pivot through English."""
    return [
        Language(code=code, name=language_name(code), targets=targets)
        for code, targets in state.dispatcher.targets.items()
    ]
