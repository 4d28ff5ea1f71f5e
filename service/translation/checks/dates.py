"""Dates with the name of a month, or in Chinese: networks mix up their parts, so that they are
compared, and carried, as wholes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.checks.number_words import BEFORE_REPUBLIC, numeral_value
from service.translation.language.chinese import SIMPLIFIED, to_simplified

MONTHS = {
    "en": (
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December"),
    ),
    "de": (
        *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"),
        *("September", "Oktober", "November", "Dezember"),
    ),
}
LEAST_LETTERS = 3
"""Of the name of a month: its abbreviation."""
_MOST_DAYS = 31
_POINT = r"\.(?=\W*+\w)|(?=\.)"
"""That at the end of a text is of the sentence."""
_NUMBER, _YEAR = r"(?P<day>[0-9]{1,2})", r"(?P<year>[12][0-9]{3})"
_YEAR_OF_CENTURY = r"(?P<year>[0-9]{2})(?![\d:]|[.,]\d)"
_LAST_OF_THIS_CENTURY = 49
_NAMES = {
    code: "|".join(
        rf"{month[:LEAST_LETTERS]}(?:t?(?:{_POINT})|(?:{month[LEAST_LETTERS:]})?\b)"
        for month in months
    )
    for code, months in MONTHS.items()
}
_ENGLISH_DAY = rf"{_NUMBER}(?:st|nd|rd|th)?+"
_ENGLISH_DAYS = (
    rf"(?:{_ENGLISH_DAY}(?P<joint>, )(?=\d\d?(?:st|nd|rd|th)?(?:,? (?:and|or)\b|, \d))){{0,4}}"
    rf"{_ENGLISH_DAY}"
    rf"(?:(?P<joint>\s?[-–—&]\s?|,? (?:and|or|to|until|till|through) (?:the )?){_ENGLISH_DAY})?"
)
_GERMAN_DAYS = (
    rf"(?:{_NUMBER}\.?(?P<joint>\s?[-–—/]\s?|,\s|\s(?:und|oder|auf|bis)\s(?:de[mnr]\s|zum\s)?)){{0,4}}"
    rf"{_NUMBER}\."
)
_DAY_BEFORE = (
    r"(?i:am|zum|vom|den|dem)"
    r"|(?:Mo|Di|Mi|Do|Fr|Sa|So)\.?,|(?:(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch),"
)
_BEFORE = rf"(?:{_DAY_BEFORE}|(?i:von|ab|bis|seit))"
"""What stands before a short German date: a preposition, which may also be that of a version, or
the day of the week."""
_SHORT_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_SHORT_YEAR = r"(?:[12][0-9]{3})"
_SHORT = r"[0-3]?[0-9]\.[01]?[0-9]\."
_SHORT_JOINT = r"(?:\s?[-–—/]\s?|,\s|,?\s(?:und|oder|bis)\s(?:am\s|zum\s)?)"
_IN_LIST = (
    rf"(?<![\d.,:])(?=[0-9]{{1,2}}\.[01]?[0-9]\.)(?:(?<=\b{_BEFORE}\s"
    rf"(?:[0-3]?[0-9]\.(?:[01]?[0-9]\.{_SHORT_YEAR}?)?{_SHORT_JOINT}){{0,8}})"
    rf"|(?={_SHORT}(?:{_SHORT_JOINT}{_SHORT}){{1,8}}{_SHORT_YEAR}\b))"
)
SHORT_DATE = rf"{_IN_LIST}[0-3]?\d\.[01]?\d(?=\.(?!\d))"
"""3.1. behind a preposition, or in a list with one or with a year: others are sections."""
_NUMERAL = "[〇零一二三四五六七八九十百]"
DAY_OR_MONTH = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
"""In Chinese."""
_DATES = {
    "en": regex.compile(
        rf"\b(?P<month>{_NAMES['en']}) {_ENGLISH_DAYS}(?!:?\d|,\d{{3}}(?!\d))(?:,? {_YEAR}\b)?"
        rf"|(?<![\d.,:]){_ENGLISH_DAYS} (?:of )?(?P<month>{_NAMES['en']})(?:,? {_YEAR}\b)?"
    ),
    "de": regex.compile(
        rf"(?<![\d.,:]){_GERMAN_DAYS} ?(?P<month>{_NAMES['de']})(?: {_YEAR}\b)?"
        rf"|(?<![\d.,:]){_GERMAN_DAYS} ?{_SHORT_MONTH}\. ?{_YEAR}\b"
        rf"|(?<![\d.,:]|(?i:version) )(?:(?=\d\d\.\d\d)|(?<=\b(?:{_DAY_BEFORE}) ))"
        rf"{_GERMAN_DAYS}{_SHORT_MONTH}\.{_YEAR_OF_CENTURY}"
        rf"|(?<=\b{_BEFORE} ){_GERMAN_DAYS}{_SHORT_MONTH}"
        rf"(?:{_POINT})(?!\d|\.\d)"
        rf"|{_IN_LIST}{_NUMBER}\.{_SHORT_MONTH}(?:{_POINT})(?!\d|\.\d)"
    ),
    "zh": regex.compile(
        rf"(?:(?:(?P<year>[12][0-9]{{3}}|[一二][〇零一二三四五六七八九]{{3}})"
        rf"|(?:中华)?民国 ?(?P<of_republic>[0-9]{{1,3}}|{_NUMERAL}{{1,5}})"
        rf"|(?P<of_republic>一百{_NUMERAL}{{0,3}}))"
        rf" ?年 ?)?"
        rf"(?<!\d|[阴农]历)(?P<month>{DAY_OR_MONTH}) ?月 ?"
        rf"(?:(?P<day>{DAY_OR_MONTH}) ?[日号]?(?P<joint>\s?[-—–～~、,，至到和与及或]\s?)){{0,4}}"
        rf"(?P<day>{DAY_OR_MONTH}) ?[日号]"
    ),
}
_MAYBE = {"de": re.compile(r"[0-9]\."), "en": re.compile("[0-9]"), "zh": re.compile("月")}
"""Every date has it."""
_JOINTS = {
    "en": {"-": "–", "to": " to ", ",": ", ", "and": " and ", "or": " or "},
    "de": {"-": "–", "to": " bis ", ",": ", ", "and": " und ", "or": " oder "},
    "zh": {"-": "至", "to": "至", ",": "、", "and": "和", "or": "或"},
}
_MEANT = {
    **dict.fromkeys(("-", "–", "—", "～", "~"), "-"),
    **dict.fromkeys(("to", "until", "till", "through", "bis", "auf", "至", "到"), "to"),
    **dict.fromkeys(("or", "oder", "或"), "or"),
    **dict.fromkeys((",", "，", "、"), ","),
}
_NUMBER_AFTER = regex.compile(
    r"\s?(?:[-–—&/+至和到]|to\b|and\b|or\b|until\b|till\b|bis\b|und\b|oder\b)\s?\d\d?"
    r"(?!\d|\.?\s\p{Lu}|\.\s?\d|\s?[月年])"
)
_NUMBER_BEFORE = regex.compile(
    r"(?<!\d)\d\d?\.?(?:st|nd|rd|th)?\s?(?:[-–—&/+,、至和到]|to|and|or|until|till|bis|und|oder)\s?$"
)
_LONGEST_JOINT = 12
_PAIR = regex.compile(r"(?<!\d)(?P<first>[0-9]{1,2})(?P<sign>[./-]) ?(?P<second>[0-9]{1,2})(?!\d)")
DATED = _DATES.keys()
"""The languages whose dates are known."""


class Date(NamedTuple):
    """text[start:end] is a day, or days of a month; `year` is "" without one. `joints` are what
    stands between the days, as in English."""

    start: int
    end: int
    year: str
    month: int
    days: tuple[int, ...]
    joints: tuple[str, ...] = ()

    def written(self, language: str) -> str:
        """As the language writes it."""
        sign = {"zh": "日", "de": "."}.get(language, "")
        joints = [_JOINTS[language][joint] for joint in self.joints]
        days = "".join(
            f"{day}{sign}{joint}" for day, joint in zip(self.days, [*joints, ""], strict=True)
        )
        if language == "zh":
            year = f"{self.year}年" if self.year else ""
            return f"{year}{self.month}月{days}"
        name = MONTHS[language][self.month - 1]
        if language == "de":
            return f"{days} {name} {self.year}".rstrip()
        return f"{name} {days}, {self.year}".removesuffix(", ")


def find_dates(text: str, language: str) -> Iterator[Date]:
    """The dates of a text in a language that has some here; days that share a month, as in 5 to 7
    July, are one. Linear time."""
    last = 0
    text = to_simplified(text) if language == SIMPLIFIED else text
    is_maybe = language in DATED and _MAYBE[language].search(text) is not None
    for found in _DATES[language].finditer(text) if is_maybe else ():
        before = text[max(last, found.start() - _LONGEST_JOINT) : found.start()]
        last = found.end()
        month, days = (
            _month(found["month"], language),
            tuple(map(numeral_value, found.captures("day"))),
        )
        is_whole = not _NUMBER_AFTER.match(text, last) and not _NUMBER_BEFORE.search(before)
        if is_whole and 1 <= month <= 12 and all(1 <= day <= _MOST_DAYS for day in days):
            joints = tuple(map(_meant, found.captures("joint")))
            yield Date(*found.span(), _year(found), month, days, joints)


def _year(found: regex.Match[str]) -> str:
    """Also of the calendar of Taiwan, whose first year is 1912; 24 is 2024, and 85 is 1985."""
    if of_republic := found.groupdict().get("of_republic"):
        return str(BEFORE_REPUBLIC + numeral_value(of_republic))
    year = "".join(str(numeral_value(char)) for char in found["year"] or "")
    if len(year) == 2:
        return f"{20 if int(year) <= _LAST_OF_THIS_CENTURY else 19}{year}"
    return year


def _meant(joint: str) -> str:
    """What stands between two days, as in English."""
    words = joint.split()
    return _MEANT.get(words[-1] if words[0] == "," and len(words) > 1 else words[0], "and")


def lost_dates(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The dates of the source, as written, whose days and month do not stand beside each other in
    the translation."""
    if not set(pair) <= DATED:
        return []
    dates = [*find_dates(source, pair[0])]
    if not dates:
        return []
    there = {(one.month, day) for one in find_dates(target, pair[1]) for day in one.days}
    there.update(_in_digits(target, has_points=pair[1] == "de"))
    return [
        source[one.start : one.end]
        for one in dates
        if not there.issuperset((one.month, day) for day in one.days)
    ]


def _in_digits(text: str, *, has_points: bool) -> Iterator[tuple[int, int]]:
    """Each two numbers that may be a month and a day, as in 2024-03-05 and, if dates of the
    language have points, 5.3."""
    for found in _PAIR.finditer(text, overlapped=True):
        if has_points or found["sign"] != ".":
            first, second = int(found["first"]), int(found["second"])
            yield from ((first, second), (second, first))


def _month(written: str, language: str) -> int:
    if language == "zh" or written.isdecimal():
        return numeral_value(written)
    beginnings = [name[:LEAST_LETTERS] for name in MONTHS[language]]
    return beginnings.index(written[:LEAST_LETTERS]) + 1
