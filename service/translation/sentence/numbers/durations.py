"""English hours and minutes in letters, as 2h 30m, 24h and 1 hr, and German ones in an adjective,
as 5-stündig: networks take the m for metres, lose the hour, and make years of wöchig."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.halves import TO_TWELVE
from service.translation.sentence.replaced import Replacement

_DURATION = regex.compile(
    r"(?<![\p{L}\d.,:/-])(?P<hours>[0-9]{1,3})(?:"
    r"\s?(?:h|hrs?\.?)\s?(?P<minutes>[0-9]{1,2})\s?(?:m|mins?)|\s?hrs?(?:\.(?=\W*+\w))?|h)"
    r"(?![\p{L}\d'’/-])"
)
_UNITS = {"stünd": "Stunden", "wöch": "Wochen"}
"""Networks know days, months and minutes."""
_ADJECTIVE = regex.compile(
    rf"(?<![\p{{L}}\d.,:/-])(?:(?P<count>(?!1-)[0-9]{{1,3}})-|(?P<count>(?i:{'|'.join(TO_TWELVE['de'][1:])})))"
    rf"(?P<unit>{'|'.join(_UNITS)})ig(?P<ending>e[mnrs]?)?(?![\p{{L}}-])"
)


def find_durations(text: str, language: str) -> Iterator[Replacement]:
    """Those of an English or German text, in words."""
    if language == "en":
        yield from _english(text)
    elif language == "de":
        for found in _ADJECTIVE.finditer(text) if "ig" in text else ():
            words = f"{found['count']} {_UNITS[found['unit']]} lang{found['ending'] or ''}"
            yield Replacement(*found.span(), words)


def _english(text: str) -> Iterator[Replacement]:
    for found in _DURATION.finditer(text) if "h" in text else ():
        hours, minutes = found["hours"], found["minutes"]
        parts = [(hours, "hour"), *([(minutes, "minute")] if minutes else [])]
        words = (
            f"{count} {unit}" if int(count) == 1 else f"{count} {unit}s" for count, unit in parts
        )
        yield Replacement(*found.span(), " ".join(words))
