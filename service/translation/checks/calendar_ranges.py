"""From one day of the week or month to another, as in Mon–Fri and 3月至5月, and several days, as in
Monday, Wednesday and Friday: networks lose some, so that these are compared and carried as wholes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from service.translation.checks.dates import DAY_OR_MONTH, LEAST_LETTERS, MONTHS
from service.translation.checks.number_words import numeral_value

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
_WORDS = {"de": "bis", "en": "to|through|thru|until|till"}
_TO = {"de": " bis ", "en": " to "}
_SIGNS = "[—–~～-]"
_CHINESE_DAYS = "一二三四五六日"


@dataclass(frozen=True)
class _Calendar:
    """The names of days or months by language, those of its abbreviations among them, with their
    place in the week or year; those that are written; and patterns of Chinese ones."""

    places: Mapping[str, Mapping[str, int]]
    written: Mapping[str, Sequence[str]]
    before: str
    name: str
    behind: str

    def pattern(self, language: str, group: str) -> str:
        """One name in a group."""
        if language == "zh":
            return rf"{self.before}(?P<{group}>{self.name}){self.behind}"
        names = "|".join(sorted(self.places[language], key=len, reverse=True))
        return rf"(?P<{group}>{names})"

    def place(self, name: str, language: str) -> int:
        """Where a name is in the week or year; -1 of none."""
        if language != "zh":
            return self.places[language][name]
        if self.name == DAY_OR_MONTH:
            month = numeral_value(name)
            return month - 1 if month <= 12 else -1
        return _CHINESE_DAYS.index(name[-1].replace("天", "日"))


def _places(names: Mapping[str, str]) -> Mapping[str, int]:
    """The places of the names and abbreviations."""
    order = [*dict.fromkeys(names.values())]
    return {name: order.index(day) for short, day in names.items() for name in (short, day)}


_ABBREVIATED = {
    code: {month[:LEAST_LETTERS]: month for month in months} for code, months in MONTHS.items()
}
_CALENDARS = (
    _Calendar(
        {code: _places(days) for code, days in DAYS.items()},
        {code: [*dict.fromkeys(days.values())] for code, days in DAYS.items()}
        | {"zh": [f"周{day}" for day in _CHINESE_DAYS]},
        "(?:[周週]|星期|礼拜|禮拜)",
        f"[{_CHINESE_DAYS}天]",
        "",
    ),
    _Calendar(
        {code: _places(months) for code, months in _ABBREVIATED.items()},
        {**MONTHS, "zh": [f"{month}月" for month in range(1, 13)]},
        r"(?<![\d阴农历])",
        DAY_OR_MONTH,
        r"\s?月",
    ),
)
_JOINTS = {code: rf"\.?(?:\s?{_SIGNS}\s?|\s(?:{words})\s)" for code, words in _WORDS.items()} | {
    "zh": rf"\s?(?:[至到]|{_SIGNS})\s?"
}
_OUTSIDE = (
    (r"(?<![\p{L}\p{N}._/-])", r"(?![\p{L}\p{N}-])"),
    (r"(?<![\p{L}\p{N}._/-]|\d\.?\s)", r"(?![\p{L}\p{N}-]|\.?\s?\d\d?(?!\d))"),
)
"""What stands around a range of days and one of months; a number beside a month is a day."""
_BEHIND_CHINESE = r"(?![一二三四五六七八九十]|\s?\d\d?[日号號])"
_RANGES = [
    {
        code: regex.compile(
            ("" if code == "zh" else before)
            + _JOINTS[code].join(calendar.pattern(code, group) for group in ("first", "last"))
            + (_BEHIND_CHINESE if code == "zh" else behind)
        )
        for code in _JOINTS
    }
    for calendar, (before, behind) in zip(_CALENDARS, _OUTSIDE, strict=True)
]
_AND = {"en": "and|&", "de": "und|sowie|&", "zh": "[和及与跟]"}
_OR = {"en": "or", "de": "oder", "zh": "或"}
_LISTS = {
    code: regex.compile(
        rf"{before}(?:{day})(?:(?P<joint>,?\s(?:{_AND[code]}|{_OR[code]})\s|,\s)(?:{day}))++(?:{behind}|(?P<goes_on>))"
        if code != "zh"
        else rf"(?:{day})(?:(?P<joint>\s?(?:[、，,]|{_AND[code]}|{_OR[code]})\s?)(?:{day}))++"
    )
    for before, behind in _OUTSIDE[:1]
    for code, day in (*((code, _CALENDARS[0].pattern(code, "name")) for code in (*_WORDS, "zh")),)
}
"""Several days of the week. `goes_on`: they are part of a longer word."""
_KINDS_OF_JOINTS = {code: (regex.compile(_OR[code]), regex.compile(_AND[code])) for code in _AND}
_WRITTEN_JOINTS = {
    "en": (" or ", " and ", ", "),
    "de": (" oder ", " und ", ", "),
    "zh": ("或", "和", "、"),
}
_AFTER_NAME = r"(?:(?!\p{L})|(?<=day|tag|woch))"
"""A whole name of a day may begin a word, as in Freitagabend."""
_NAMED = [
    {
        code: regex.compile(calendar.pattern(code, "name") + ("" if code == "zh" else _AFTER_NAME))
        for code in _JOINTS
    }
    for calendar in _CALENDARS
]
_BEGINNINGS = {
    code: "|".join(sorted({name[:3] for one in _CALENDARS for name in one.places[code]}))
    for code in _WORDS
}
LONG_DAY = {"de": re.compile("tag|woch"), "en": re.compile("day")}
RANGE_TO, RANGE_DASH, RANGE_HYPHEN = (
    {code: re.compile(rf"{joints[code]}\s?(?:{any_of})") for code, any_of in _BEGINNINGS.items()}
    for joints in (_TO, dict.fromkeys(_TO, "–"), dict.fromkeys(_TO, "-"))
)
"""Cheap looks by language: a joint, which is looked for first, and how the second name begins."""
CHINESE_DAYS = regex.compile(f"{_RANGES[0]['zh'].pattern}|{_LISTS['zh'].pattern}")
LISTED_DAYS = {
    "en": re.compile(r"day(?:,|,? (?:and|or)| &) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"),
    "de": re.compile(
        r"(?:tag|woch)(?:,| (?:und|oder|sowie|&)) (?:Mon|Diens|Mitt|Donn|Frei|Sam|Sonn)"
    ),
}


class CalendarRange(NamedTuple):
    """text[start:end] is such a range, and `written` what it is in the target language; `kind`: of
    days (0) or months (1)."""

    start: int
    end: int
    written: str
    kind: int
    places: frozenset[int]


def find_calendar_ranges(text: str, source: str, target: str) -> Iterator[CalendarRange]:
    """The ranges of a text, and its several days, if both languages have names here. Linear
    time."""
    if source not in _JOINTS or target not in _JOINTS:
        return
    for several in _LISTS[source].finditer(text):
        if source == "zh" or several["goes_on"] is None:
            yield _several(several, source, target)
    for kind, calendar in enumerate(_CALENDARS):
        for found in _RANGES[kind][source].finditer(text):
            first, last = (calendar.place(found[group], source) for group in ("first", "last"))
            if first >= 0 and last >= 0:
                names = calendar.written[target]
                written = _TO.get(target, "至").join((names[first], names[last]))
                yield CalendarRange(*found.span(), written, kind, frozenset((first, last)))


def find_short_days(text: str, source: str, target: str) -> Iterator[CalendarRange]:
    """Those of days by their short names on the way to Chinese: networks read Mon, Wed as the
    names of men."""
    for one in find_calendar_ranges(text, source, target) if target == "zh" else ():
        is_short = not LONG_DAY[source].search(text, one.start, one.end)
        if one.kind == 0 and is_short:
            yield one


def _several(found: regex.Match[str], source: str, target: str) -> CalendarRange:
    """Several days as the target lists them."""
    places = [_CALENDARS[0].place(name, source) for name in found.captures("name")]
    first, *others = (_CALENDARS[0].written[target][place] for place in places)
    joints = (_joint(joint, source, target) for joint in found.captures("joint"))
    rest = (f"{joint}{name}" for joint, name in zip(joints, others, strict=True))
    return CalendarRange(*found.span(), "".join([first, *rest]), 0, frozenset(places))


def _joint(joint: str, source: str, target: str) -> str:
    kinds = (kind for kind, one in enumerate(_KINDS_OF_JOINTS[source]) if one.search(joint))
    return _WRITTEN_JOINTS[target][next(kinds, -1)]


def lost_calendar_ranges(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The ranges of the source, as written, of which the translation lacks a day or month."""
    return [
        source[one.start : one.end]
        for one in find_calendar_ranges(source, *pair)
        if not one.places <= _named(target, pair[1], one.kind)
    ]


def place_of_day(name: str, language: str) -> int:
    """The number of a day of the week, 0 for Monday."""
    return _CALENDARS[0].place(name, language)


def named_days(text: str, language: str) -> set[int]:
    """The numbers of the days of the week that a text names."""
    return _named(text, language, 0)


def _named(text: str, language: str, kind: int) -> set[int]:
    """The days or months that a text names."""
    calendar = _CALENDARS[kind]
    found = _NAMED[kind][language].finditer(text)
    return {calendar.place(one["name"], language) for one in found}
