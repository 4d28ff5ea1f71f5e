"""Which columns of a table have the terms of a language, by the heading: its code, or its name in
English or in a language of the pair, also with a region, such as "German (Austria)"."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import regex
from babel import Locale, UnknownLocaleError

from model.text.languages import Languages

_NAMED = regex.compile(r"(?P<language>[^()_]+?)(?:\s*[(_]\s*(?P<part>[^()]+?)\s*\)?)?")
_MOST_CHARACTERS = 100
_Names = dict[str, str]
"""Codes by names in small letters."""


class Headings:
    """The headings of the columns of a pair."""

    def __init__(self, source: str, target: str) -> None:
        self._pair = source, target
        self._languages = Languages(self._pair)

    def columns(self, row: Sequence[str]) -> tuple[int, int] | None:
        """Those of the source and of the target; None if the row is no heading of both."""
        found: dict[str, tuple[int, int]] = {}
        for column, cell in enumerate(row):
            side, rank = self._side(cell.strip())
            if side is not None and rank > found.get(side, (-1, 0))[0]:
                found[side] = rank, column
        if len(found) < len(self._pair):
            return None
        source, target = (found[side][1] for side in self._pair)
        return source, target

    def _side(self, cell: str) -> tuple[str | None, int]:
        """The language of a column, and how sure that is: "ID" may also be a number."""
        if cell in self._pair:
            return cell, 3
        if len(cell) > _MOST_CHARACTERS or not cell:
            return None, 0
        for locale in dict.fromkeys(("en", *self._pair)):
            if tag := _tag(cell, locale):
                return self._languages.find(tag), 2
        side = self._languages.find(cell)
        return side, int(side is not None and side.lower() == cell.lower())


def _tag(cell: str, locale: str) -> str | None:
    """Of a name such as "Chinese (Traditional)" in the language of the locale."""
    languages, parts = _names(locale)
    matched = _NAMED.fullmatch(cell)
    language = languages.get(matched["language"].casefold()) if matched else None
    if matched is None or language is None or not matched["part"]:
        return language
    part = parts.get(matched["part"].replace("_", " ").casefold())
    return part and f"{language}-{part}"


@functools.lru_cache(16)
def _names(code: str) -> tuple[_Names, _Names]:
    """Languages, and scripts and regions, which their codes name too."""
    try:
        locale = Locale.parse(code, sep="-")
    except (UnknownLocaleError, ValueError):
        return {}, {}
    parts = {**locale.scripts, **locale.territories}
    languages = {name.casefold(): tag.replace("_", "-") for tag, name in locale.languages.items()}
    named = {name.casefold(): tag for tag, name in parts.items()}
    return languages, {**{tag.casefold(): tag for tag in parts}, **named}
