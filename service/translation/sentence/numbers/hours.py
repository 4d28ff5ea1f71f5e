"""English hours of half a day, as hours of a whole one: networks lose that 3 p.m. is 15:00. German
hours, in digits: networks make 17 p.m. of 9–17 Uhr, and 17 of 17 Uhr. And Chinese ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

from model.text.spans import disjoint
from service.translation.checks.dotted_times import dotted_times, with_colons
from service.translation.sentence.numbers.chinese_hours import find_chinese_hours
from service.translation.sentence.numbers.parts_of_day import PARTS, of_whole_day
from service.translation.sentence.numbers.spoken_hours import find_spoken_hours

_CLOCK = r"(?P<{0}hour>1[0-2]|0?[1-9])(?:[:.](?P<{0}minute>[0-5][0-9]))?"
_HOUR = regex.compile(
    rf"(?<![\d:.,/$€£⟧]|\d\s?[-–—]\s?|\d\s(?:to|or|and|till|until)\s)"
    rf"(?:{_CLOCK.format('first_')}(?P<joint>\s?[-–—]\s?|\s(?:to|or|and|till|until)\s))?"
    rf"{_CLOCK.format('')}\s?(?:(?P<is_pm>p)|a)(?:\.\s?m\b(?:\.(?=\W*+\w))?|m\b)",
    regex.IGNORECASE,
)
"""3 p.m., by itself or after an hour of which no half is told, as in `9 to 11 p.m.`"""
_MAYBE = {
    "en": re.compile(r"[0-9]\s?[AaPp]\.?\s?[Mm]"),
    "de": re.compile(r"[0-9]\s?(?:Uhr|h)"),
}
"""Every such hour has it."""
_HALF = 12
_DASHES = frozenset("-–—")
_DASH_AFTER = regex.compile(r"\s?[-–—]\s?\d")
_OF_DAY = r"(?P<{0}hour>[01]?[0-9]|2[0-4])(?:[:.](?P<{0}minute>[0-5][0-9]))?"
_UHR = regex.compile(
    rf"(?<![\d.,:/–—-])(?:{_OF_DAY.format('first_')}(?P<joint>\s?[-–—]\s?|\s(?:bis|und|oder)\s))?"
    rf"{_OF_DAY.format('')}\s?(?:Uhr(?:\s(?P<minute>[0-5][0-9])(?![\d:]|[.,]\d|\s\p{{Lu}}))?"
    rf"(?:\s(?P<part>{PARTS['de']}))?|(?<=[-–—].{{0,4}}[:.]\d\d\s?)h)\b(?![/-])"
)
"""17 Uhr, 9 bis 17 Uhr 30, 8 Uhr abends, and 9–17.30 h; 2–3 h is a time that something takes."""


class Hour(NamedTuple):
    """text[start:end] is an hour of half a day. As one of a whole day: `said` in English, as
    networks know it best, and `written` in digits."""

    start: int
    end: int
    said: str
    written: str


def find_hours(text: str, language: str) -> Iterator[Hour]:
    """The hours of a text, as hours from 0:00 to 23:59. An hour before another is of the same half
    of the day if it is smaller, as in `9 to 11 p.m.`, and else of the other, as in `9 to 5 p.m.`"""
    if language == "zh":
        yield from (Hour(*one, one.new) for one in find_chinese_hours(text))
    elif language in ("en", "de"):
        spoken = (Hour(*one, one.new) for one in find_spoken_hours(text, language))
        find = _english if language == "en" else _german
        dotted = _dotted(text) if "." in text else ()
        own = find(text) if _MAYBE[language].search(text) else ()
        yield from disjoint([*spoken, *own, *dotted])


def _german(text: str) -> Iterator[Hour]:
    """Those before Uhr."""
    yield from map(_before_uhr, _UHR.finditer(with_colons(text)))


def _dotted(text: str) -> Iterator[Hour]:
    """Those with a point."""
    for start, end in dotted_times(text):
        written = text[start:end].replace(".", ":")
        yield Hour(start, end, written, written)


def _before_uhr(found: regex.Match[str]) -> Hour:
    written, joint = _of_day(found, ""), found["joint"]
    if joint is not None:
        written = f"{_of_day(found, 'first_')}{joint}{written}"
    return Hour(*found.span(), written, written)


def _of_day(found: regex.Match[str], which: str) -> str:
    hour = of_whole_day(int(found[f"{which}hour"]), found["part"], "de")
    return _digits(hour, found[f"{which}minute"])


def _english(text: str) -> Iterator[Hour]:
    for found in _HOUR.finditer(text):
        last, is_pm = int(found["hour"]) % _HALF, found["is_pm"] is not None
        joint, minute = found["joint"], found["minute"]
        is_in_words = joint is None or joint.strip().isalpha()
        before = text[max(0, found.start() - 2) : found.start()]
        if _DASHES.intersection(before) or _DASH_AFTER.match(text, found.end()):
            is_in_words = False
        if joint is not None:
            first = int(found["first_hour"]) % _HALF
            of_day = first + _HALF * (is_pm == (first < last))
            start, end = found.start("first_hour"), found.start("joint")
            is_said = is_in_words and not (minute or found["first_minute"])
            yield _hour(start, end, of_day, found["first_minute"], str(of_day) if is_said else "")
        of_day = last + _HALF * is_pm
        is_said = is_in_words and of_day and not minute
        start = found.start("hour")
        yield _hour(start, found.end(), of_day, minute, f"{of_day} o'clock" if is_said else "")


def _hour(start: int, end: int, of_day: int, minute: str | None, said: str) -> Hour:
    written = _digits(of_day, minute)
    return Hour(start, end, said or written, written)


def _digits(hour: int, minute: str | None) -> str:
    return f"{hour}:{minute or '00'}"
