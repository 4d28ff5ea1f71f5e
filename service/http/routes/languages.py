"""GET /languages, in LibreTranslate's shape."""

from __future__ import annotations

from babel import Locale, UnknownLocaleError
from fastapi import APIRouter
from pydantic import BaseModel

from service.http.state import StateDep

router = APIRouter()


class Language(BaseModel):
    """A language and what it can be translated into, itself left out."""

    code: str
    name: str
    targets: list[str]


@router.get("/languages")
@router.head("/languages")
async def languages(state: StateDep) -> list[Language]:
    """Every language that a model knows; its targets are reached directly or through English."""
    return [
        Language(code=code, name=language_name(code), targets=targets)
        for code, targets in state.dispatcher.targets.items()
    ]


def language_name(code: str) -> str:
    """The language's English name, or the code where there is none."""
    try:
        return Locale.parse(code, sep="-").get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code
