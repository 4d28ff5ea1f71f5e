"""Hours of the morning and of the evening: 早上八点半 is not 8:30 p.m., and 上午20点 no hour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.checks.number_words import TO_TWELVE, chinese_value, words_value
from service.translation.language.chinese import SIMPLIFIED, to_simplified

_HALF = 12
_DIGITS = r"(?<![\d.,:])(?P<hour>[01]?[0-9])(?:[:.][0-5][0-9])?"
_OF_WHOLE_DAY = r"(?<![\d.,:])(?P<late>1[3-9]|2[0-3])"
_HOURS = {
    "en": regex.compile(
        rf"{_DIGITS}\s?(?:(?P<pm>p)|a)\.?\s?m\b"
        rf"|(?:{_DIGITS}|\b(?P<hour>{'|'.join(TO_TWELVE['en'][:-1])}))"
        r"(?:\so['’]clock)?\sin\sthe\s(?:morning|(?P<pm>afternoon|evening))\b"
        rf"|{_OF_WHOLE_DAY}:[0-5][0-9](?!\d)",
        regex.IGNORECASE,
    ),
    "de": regex.compile(
        rf"{_DIGITS}(?:\sUhr(?:\s[0-5][0-9])?)?\s(?:morgens|früh|vormittags|(?P<pm>nachmittags|abends))\b"
        rf"|{_OF_WHOLE_DAY}(?::[0-5][0-9](?!\d)|(?:\.[0-5][0-9])?\sUhr\b)"
    ),
    "zh": regex.compile(
        r"(?:(?P<am>凌晨|[清早]晨|[今明]?早上?|上午)|(?P<pm>下午|傍晚|[今明昨]?晚上?))\s?"
        r"(?P<hour>[01]?[0-9]|2[0-3]|十一?|[一二两三四五六七八九])(?:[点时]|[:：][0-5][0-9])"
        rf"|{_OF_WHOLE_DAY}(?:[点时]|[:：][0-5][0-9](?!\d))"
    ),
}


_MAYBE = re.compile("[0-9点时:：]| in the ")


class _Hour(NamedTuple):
    """An hour from 1 to 11, and whether it is of the second half of the day."""

    hour: int
    is_late: bool

    @property
    def other(self) -> _Hour:
        return _Hour(self.hour, not self.is_late)


def lost_halves(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The hours of the source, as written, that are of the other half of the day in the
    translation. Linear time."""
    hours = [*_hours(source, pair[0])]
    if not hours:
        return []
    told, there = {hour for hour, _ in hours}, {hour for hour, _ in _hours(target, pair[1])}
    return [
        written
        for hour, written in hours
        if hour.other in there and hour not in there and hour.other not in told
    ]


def _hours(text: str, language: str) -> Iterator[tuple[_Hour, str]]:
    """Those of a text of which the half of the day is told, with how they are written."""
    pattern = _HOURS.get(language)
    simplified = to_simplified(text) if language == SIMPLIFIED else text
    for found in pattern.finditer(simplified) if pattern and _MAYBE.search(simplified) else ():
        hour = _value(found["late"] or found["hour"])
        if hour % _HALF:
            is_early = found.groupdict().get("am") is not None
            is_late = found["pm"] is not None or (hour > _HALF and not is_early)
            yield _Hour(hour % _HALF, is_late), text[slice(*found.span())]


def _value(written: str) -> int:
    if written.isdecimal():
        return int(written)
    return (words_value(written) if written.isascii() else chinese_value(written)) or 0
