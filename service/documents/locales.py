"""How office programs name languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langcodes import Language


def locale_of(language: str) -> str:
    """The language with its likely country, which Word wants, such as de-DE."""
    likely = _parsed(language).maximize()
    return f"{likely.language}-{likely.territory}"


def is_asian(language: str) -> bool:
    """Whether office programs mark the language as one of East Asia."""
    return _parsed(language).language in ("zh", "ja", "ko")


def _parsed(language: str) -> Language:
    from langcodes import Language  # takes 25 ms, and few servers need it

    return Language.get(language)
