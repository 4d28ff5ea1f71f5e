"""English times that something takes in letters, as 2h 30m, 5 wks and 3w ago, and German ones in an
adjective, as 5-stündig: networks take the m for metres, lose the hour, and make years of wöchig."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import TO_TWELVE
from service.translation.sentence.replaced import Replacement

_WORDS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second", "y": "year"}
_LETTERS = ("w", "d", "hrs?|h", "mins?|m", "secs?|s")
_PARTS = "".join(rf"(?:\.?\s?(?P<count>[0-9]{{1,3}})\s?(?P<unit>{one}))?" for one in _LETTERS)
_ANY = rf"[0-9]{{1,3}}\s?(?:{'|'.join(_LETTERS)})"
_DURATION = regex.compile(
    rf"(?<![\p{{L}}\d.,:/$€£¥-])(?=[0-9])(?:(?={_ANY}\.?\s?{_ANY}){_PARTS}"
    r"|(?P<count>[0-9]{1,3})(?:\s?(?P<unit>hr|sec|wk|yr)s?(?:\.(?=\W*+\w))?|(?P<unit>h)"
    r"|(?P<unit>[wdms])(?=\s(?:ago|later|left|read|remaining)\b)"
    r"|(?<=\b(?:after|every|for|in|takes?|took|[Ww]ait|within)\s\d++)(?P<unit>[wds])))"
    r"(?![\p{L}\d'’/-])"
)
"""A single letter needs a word beside it: the 80s are no seconds, and 5m may be metres."""
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
    for found in _DURATION.finditer(text):
        parts = zip(*found.captures("count", "unit"), strict=True)
        yield Replacement(*found.span(), " ".join(_in_words(*part) for part in parts))


def _in_words(count: str, unit: str) -> str:
    return f"{count} {_WORDS[unit[0]]}{'' if int(count) == 1 else 's'}"
