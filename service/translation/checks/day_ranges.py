"""From one day of the week to another, as in Mon–Fri and 周一至周五: networks lose one of the two,
so that they are compared, and carried, as wholes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

DAYS = {
    "de": {
        "Mo": "Montag",
        "Di": "Dienstag",
        "Mi": "Mittwoch",
        "Do": "Donnerstag",
        "Fr": "Freitag",
        "Sa": "Samstag",
        "So": "Sonntag",
    },
    "en": {
        "Mon": "Monday",
        "Tue": "Tuesday",
        "Tues": "Tuesday",
        "Wed": "Wednesday",
        "Thu": "Thursday",
        "Thur": "Thursday",
        "Thurs": "Thursday",
        "Fri": "Friday",
        "Sat": "Saturday",
        "Sun": "Sunday",
    },
}
"""The names of days by their abbreviations."""
_CHINESE = "一二三四五六日"
_NAMES = {
    code: {name: list(dict.fromkeys(days.values())).index(days[name[:most]]) for name in names}
    for code, days, most in (("de", DAYS["de"], 2), ("en", DAYS["en"], 3))
    for names in [[*days, *days.values()]]
}
"""Which day of the week each name and abbreviation is."""
_WEEK = "(?:[周週]|星期|礼拜|禮拜)"
_ANY = {code: "|".join(sorted(names, key=len, reverse=True)) for code, names in _NAMES.items()}
_RANGES = {
    code: regex.compile(
        rf"(?<![\p{{L}}\p{{N}}._/-])(?P<first>{_ANY[code]})\.?"
        rf"(?:\s?[-–—]\s?|\s(?:{words})\s)(?P<last>{_ANY[code]})(?![\p{{L}}\p{{N}}-])"
    )
    for code, words in (("de", "bis"), ("en", "to|through|thru|until|till"))
} | {
    "zh": regex.compile(
        rf"{_WEEK}(?P<first>[{_CHINESE}天])\s?[至到—–~～-]\s?{_WEEK}(?P<last>[{_CHINESE}天])"
    )
}
_NAMED = {
    "de": regex.compile(rf"(?P<day>{_ANY['de']})s?(?!\p{{L}})"),
    "en": regex.compile(rf"(?P<day>{_ANY['en']})s?(?!\p{{L}})"),
    "zh": regex.compile(rf"{_WEEK}(?P<day>[{_CHINESE}天])"),
}
_WRITTEN = {"de": "{} bis {}", "en": "{} to {}", "zh": "周{}至周{}"}
_FULL = {code: [*dict.fromkeys(days.values())] for code, days in DAYS.items()}


class DayRange(NamedTuple):
    """text[start:end] is a range from one day of the week to another; Monday is 0."""

    start: int
    end: int
    first: int
    last: int

    def written(self, language: str) -> str:
        """As the language writes it."""
        names = _FULL.get(language, _CHINESE)
        return _WRITTEN[language].format(names[self.first], names[self.last])


def find_day_ranges(text: str, source: str, target: str) -> Iterator[DayRange]:
    """The ranges of a text, if both languages have names of days here. Linear time."""
    if source in _RANGES and target in _RANGES:
        for found in _RANGES[source].finditer(text):
            days = _day(found["first"], source), _day(found["last"], source)
            yield DayRange(*found.span(), *days)


def has_day_range(text: str, language: str) -> bool:
    """Whether there is a range in a text of such a language."""
    return _RANGES[language].search(text) is not None


def lost_days(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The ranges of the source, as written, of which the translation lacks a day."""
    ranges = [*find_day_ranges(source, *pair)]
    if not ranges:
        return []
    there = {_day(found["day"], pair[1]) for found in _NAMED[pair[1]].finditer(target)}
    return [
        source[one.start : one.end] for one in ranges if not there.issuperset((one.first, one.last))
    ]


def _day(name: str, language: str) -> int:
    names = _NAMES.get(language)
    return names[name] if names else _CHINESE.index(name.replace("天", "日"))
