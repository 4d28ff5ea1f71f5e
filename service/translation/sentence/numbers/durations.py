"""English hours and minutes in letters, as 2h 30m and 1 hr: networks take the m for metres and lose
the hr."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_DURATION = regex.compile(
    r"(?<![\p{L}\d.,:/-])(?P<hours>[0-9]{1,3})(?:"
    r"\s?(?:h|hrs?\.?)\s?(?P<minutes>[0-9]{1,2})\s?(?:m|mins?)|\s?hrs?(?:\.(?=\W*+\w))?)(?![\p{L}\d'’/-])"
)


def find_durations(text: str) -> Iterator[Replacement]:
    """Those of a text, in words."""
    for found in _DURATION.finditer(text):
        hours, minutes = found["hours"], found["minutes"]
        parts = [(hours, "hour"), *([(minutes, "minute")] if minutes else [])]
        words = (
            f"{count} {unit}" if int(count) == 1 else f"{count} {unit}s" for count, unit in parts
        )
        yield Replacement(*found.span(), " ".join(words))
