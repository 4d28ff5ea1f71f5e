"""Days of the week beside dates, which networks lose: 3月5日（周二） is more than March 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.checks.calendar_ranges import DAYS
from service.translation.checks.dates import Date, find_dates
from service.translation.language.chinese import SIMPLIFIED, to_simplified

_NAMES = {
    **{code: tuple(dict.fromkeys(days.values())) for code, days in DAYS.items()},
    "zh": tuple(f"星期{char}" for char in "一二三四五六日"),
}
_ANY = {code: "|".join(names) for code, names in _NAMES.items()}
_ANY["zh"] = "(?:周|星期|礼拜)[一二三四五六日天]"
_WEEK = "一二三四五六日"
_NAMED = {
    "en": regex.compile(r"\b(?P<day>Mon|Tue|Wed|Thu|Fri|Sat|Sun)"),
    "de": regex.compile(r"\b(?P<day>Mo|Di|Mi|Do|Fr|Sa|So)"),
    "zh": regex.compile("(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"),
}
"""What the names of days begin with, also short ones."""
_BEFORE = {
    "en": regex.compile(rf"\b(?P<day>{_ANY['en']}),? (?:the )?\Z"),
    "de": regex.compile(rf"\b(?P<day>{_ANY['de']}), (?:de[mnr] )?\Z"),
}
_AFTER = {
    "en": regex.compile(rf",? (?P<open>\()?(?P<day>{_ANY['en']})(?(open)\)|(?=$|[.,;:!?]))"),
    "de": regex.compile(rf" (?P<open>\()(?P<day>{_ANY['de']})\)"),
    "zh": regex.compile(rf"[,，]?\s?(?P<open>[（(])?(?P<day>{_ANY['zh']})(?(open)[）)])"),
}
_LONGEST = 16


class DatedDay(NamedTuple):
    """text[start:end] is a date and the day of the week beside it, from 0 for Monday."""

    start: int
    end: int
    date: Date
    day: int
    is_in_brackets: bool

    def written(self, language: str) -> str:
        """As the language writes both."""
        date, day = self.date.written(language), _NAMES[language][self.day]
        if self.is_in_brackets:
            return f"{date}（{day}）" if language == "zh" else f"{date} ({day})"
        return f"{date}{day}" if language == "zh" else f"{day}, {date}"


def find_dated_days(text: str, language: str) -> Iterator[DatedDay]:
    """Those of a text in a language whose dates are known. Linear time."""
    text = to_simplified(text) if language == SIMPLIFIED else text
    for date in find_dates(text, language):
        if after := _AFTER[language].match(text, date.end):
            day = _day(after["day"], language)
            yield DatedDay(date.start, after.end(), date, day, after["open"] is not None)
        elif (before := _before(text, date.start, language)) is not None:
            yield DatedDay(
                before.start("day"), date.end, date, _day(before["day"], language), False
            )


def lost_days(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The dates of the source, as written, whose day of the week the translation lacks."""
    dated = [*find_dated_days(source, pair[0])] if set(pair) <= _NAMES.keys() else []
    if not dated:
        return []
    target = to_simplified(target) if pair[1] == SIMPLIFIED else target
    there = {_day(found["day"], pair[1]) for found in _NAMED[pair[1]].finditer(target)}
    return [source[one.start : one.end] for one in dated if one.day not in there]


def _before(text: str, start: int, language: str) -> regex.Match[str] | None:
    pattern = _BEFORE.get(language)
    return pattern.search(text, max(0, start - _LONGEST), start) if pattern else None


def _day(written: str, language: str) -> int:
    """The number of a day with this name, or one that begins so."""
    if language == "zh":
        return _WEEK.index(written[-1].replace("天", "日"))
    return next(day for day, name in enumerate(_NAMES[language]) if name.startswith(written))
