"""Dates with the name of a month, or in Chinese: networks mix up their parts, so that they are
compared, and carried, as wholes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

_MONTHS = {
    "en": (
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December"),
    ),
    "de": (
        *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"),
        *("September", "Oktober", "November", "Dezember"),
    ),
}
_LEAST_LETTERS, _MOST_DAYS = 3, 31
_DAY, _YEAR = r"(?P<day>[0-9]{1,2})", r"(?P<year>[12][0-9]{3})"
_NAMES = {
    code: "|".join(
        rf"{month[:_LEAST_LETTERS]}(?:t?\.|(?:{month[_LEAST_LETTERS:]})?\b)" for month in months
    )
    for code, months in _MONTHS.items()
}
_DATES = {
    "en": regex.compile(
        rf"\b(?P<month>{_NAMES['en']}) {_DAY}(?:st|nd|rd|th)?(?![\d:])(?:,? {_YEAR}\b)?"
        rf"|(?<![\d.,:]){_DAY}(?:st|nd|rd|th)? (?:of )?(?P<month>{_NAMES['en']})"
        rf"(?:,? {_YEAR}\b)?"
    ),
    "de": regex.compile(rf"(?<![\d.,:]){_DAY}\. ?(?P<month>{_NAMES['de']})(?: {_YEAR}\b)?"),
    "zh": regex.compile(rf"(?:{_YEAR} ?年 ?)?(?<!\d)(?P<month>[0-9]{{1,2}}) ?月 ?{_DAY} ?[日号號]"),
}
_NUMBER_AFTER = regex.compile(
    r"\s?(?:[-–—&/+至和到]|to\b|and\b|or\b|until\b|till\b|bis\b|und\b|oder\b)\s?\d\d?"
    r"(?!\d|\.?\s\p{Lu}|\s?[月年])"
)
_NUMBER_BEFORE = regex.compile(
    r"(?<!\d)\d\d?\.?(?:st|nd|rd|th)?\s?(?:[-–—&/+,、至和到]|to|and|or|until|till|bis|und|oder)\s?$"
)
_LONGEST_JOINT = 12
_PAIR = regex.compile(r"(?<!\d)([0-9]{1,2})[./-] ?([0-9]{1,2})(?!\d)")
DATED = _DATES.keys()
"""The languages whose dates are known."""


class Date(NamedTuple):
    """text[start:end] is a date; `year` is "" without one."""

    start: int
    end: int
    year: str
    month: int
    day: int

    def written(self, language: str) -> str:
        """As the language writes it."""
        if language == "zh":
            year = f"{self.year}年" if self.year else ""
            return f"{year}{self.month}月{self.day}日"
        name = _MONTHS[language][self.month - 1]
        if language == "de":
            return f"{self.day}. {name} {self.year}".rstrip()
        return f"{name} {self.day}, {self.year}".removesuffix(", ")


def find_dates(text: str, language: str) -> Iterator[Date]:
    """The dates of a text in a language that has some here, but for days that share a month, as
    in 5 to 7 July. Linear time."""
    pattern = _DATES.get(language)
    for found in pattern.finditer(text) if pattern else ():
        month, day = _month(found["month"], language), int(found["day"])
        is_alone = not _NUMBER_AFTER.match(text, found.end()) and not _NUMBER_BEFORE.search(
            text[max(0, found.start() - _LONGEST_JOINT) : found.start()]
        )
        if is_alone and 1 <= month <= 12 and 1 <= day <= _MOST_DAYS:
            yield Date(*found.span(), found["year"] or "", month, day)


def lost_dates(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The dates of the source, as written, whose day and month do not stand beside each other in
    the translation."""
    if not set(pair) <= DATED:
        return []
    dates = [*find_dates(source, pair[0])]
    if not dates:
        return []
    there = {(one.month, one.day) for one in find_dates(target, pair[1])}
    there.update(_in_digits(target))
    return [source[one.start : one.end] for one in dates if (one.month, one.day) not in there]


def _in_digits(text: str) -> Iterator[tuple[int, int]]:
    """Each two numbers that may be a month and a day, as in 2024-03-05 and 5.3."""
    for found in _PAIR.finditer(text, overlapped=True):
        first, second = map(int, found.groups())
        yield from ((first, second), (second, first))


def _month(written: str, language: str) -> int:
    if language == "zh":
        return int(written)
    beginnings = [name[:_LEAST_LETTERS] for name in _MONTHS[language]]
    return beginnings.index(written[:_LEAST_LETTERS]) + 1
