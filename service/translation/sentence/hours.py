"""English hours of half a day, as hours of a whole one: networks lose that 3 p.m. is 15:00."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

_HOUR = regex.compile(
    r"(?<![\d:.,/$€£⟧]|\d\s?[-–—]\s?|\d\s(?:to|or|and|till|until)\s)(?P<hour>1[0-2]|0?[1-9])"
    r"(?:[:.](?P<minute>[0-5][0-9]))?\s?(?:(?P<is_pm>p)|a)(?:\.\s?m\b(?:\.(?=\W*+\w))?|m\b)",
    regex.IGNORECASE,
)
"""3 p.m., by itself or after another: of `9 to 11 p.m.` the first is not known."""


class Hour(NamedTuple):
    """text[start:end] is an hour of half a day. As one of a whole day: `said` in English, as
    networks know it best, and `written` in digits."""

    start: int
    end: int
    said: str
    written: str


def find_hours(text: str, language: str) -> Iterator[Hour]:
    """The hours of a text, as hours from 1:00 to 23:59; none of 12 a.m., whose number is another
    then."""
    for found in _HOUR.finditer(text) if language == "en" else ():
        hour = int(found["hour"])
        if hour < 12 or found["is_pm"]:
            hour += 12 if found["is_pm"] and hour < 12 else 0
            written = f"{hour}:{found['minute'] or '00'}"
            said = written if found["minute"] else f"{hour} o'clock"
            yield Hour(*found.span(), said, written)
