"""Days of the week beside dates, which networks lose: 3月5日（周二） is more than March 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.checks.calendar_ranges import DAYS, named_days, place_of_day
from service.translation.checks.dates import Date, find_dates
from service.translation.language.chinese import SIMPLIFIED, to_simplified

_NAMES = {
    **{code: tuple(dict.fromkeys(days.values())) for code, days in DAYS.items()},
    "zh": tuple(f"星期{char}" for char in "一二三四五六日"),
}
_ANY = {code: "|".join(names) for code, names in _NAMES.items()}
_ANY["zh"] = "(?:周|星期|礼拜)[一二三四五六日天]"
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
            day = place_of_day(after["day"], language)
            yield DatedDay(date.start, after.end(), date, day, after["open"] is not None)
        elif (before := _before(text, date.start, language)) is not None:
            day = place_of_day(before["day"], language)
            yield DatedDay(before.start("day"), date.end, date, day, False)


def lost_days(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The dates of the source, as written, whose day of the week the translation lacks."""
    dated = [*find_dated_days(source, pair[0])] if set(pair) <= _NAMES.keys() else []
    if not dated:
        return []
    there = named_days(target, pair[1])
    return [source[one.start : one.end] for one in dated if one.day not in there]


def _before(text: str, start: int, language: str) -> regex.Match[str] | None:
    pattern = _BEFORE.get(language)
    return pattern.search(text, max(0, start - _LONGEST), start) if pattern else None
