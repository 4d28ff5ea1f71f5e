"""Chinese times as those of a whole day: networks lose that 下午3:20 is 15:20, that 4:00 is so in
下午2:30至4:00, and the minutes of 8点05分; they take 时 for when, and 早上八点半 for 20:30."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from service.translation.checks.number_words import numeral_value
from service.translation.sentence.numbers.numerals import DIGITS, MINUTES
from service.translation.sentence.numbers.parts_of_day import MORNING, PARTS, of_whole_day
from service.translation.sentence.replaced import Replacement

HOUR_IN_WORDS = rf"(?<![{DIGITS}十百千万两第])(?:二十[一二三四]?|十[{DIGITS}]?|[{DIGITS}两])"
_MINUTES_IN_WORDS = rf"(?:零[{DIGITS}]|[二三四五]?十[{DIGITS}]?)"
_TIME = (
    rf"(?:(?P<{{0}}part>{PARTS['zh']})\s?)?(?P<{{0}}hour>[01]?[0-9]|2[0-4]|{HOUR_IN_WORDS})"
    r"(?:(?:[:：]|(?<=0[0-9]):\s)(?P<{0}minute>[0-5][0-9])分?+"
    rf"|(?P<{{0}}sign>[点时])(?:(?P<{{0}}minute>[0-5]?[0-9]|{_MINUTES_IN_WORDS})分"
    rf"|(?P<{{0}}minute>{_MINUTES_IN_WORDS}(?=$|[，。；、！？,\s]))|(?P<{{0}}part_of_hour>半|[一三]刻)|整)?)"
)
_TIMES = regex.compile(
    rf"(?<![\d.第]|\d[:：]){_TIME.format('')}(?:\s?[-–—~～至到]\s?{_TIME.format('to_')})?"
    rf"(?![\d:：钟]|(?<=[点时])[{DIGITS}十零半分])"
)
"""A time, or two."""
_MAYBE = re.compile("[点时:：]")
_HALF = 12
_UNKNOWN = frozenset("早晚")
_QUARTERS = frozenset({"一刻", "三刻"})
_EARLY = frozenset({"凌晨", "清晨"})
"""Networks know 早上八点 within a sentence."""
_DAY = regex.compile(r"(?:(?:周|星期|礼拜)[一二三四五六日天]|\d[日号])\Z")
_DATE = regex.compile(r"(?r)(?<=\d)[日号]\Z")
_LONGEST_DAY = 3
"""Without a space behind it, the networks lose the day."""


def find_chinese_hours(text: str) -> Iterator[Replacement]:
    """Those that networks know better in digits. The second of two times is of the first one's part
    of the day unless it has one of its own."""
    for found in _TIMES.finditer(text) if _MAYBE.search(text) else ():
        if _is_better_in_digits(found):
            start, end = found.start("part" if _loses_part(found) else "hour"), found.end()
            new = "-".join(_in_digits(found, side) for side in _sides(found))
            if _DAY.search(text, max(0, start - _LONGEST_DAY), start):
                new = f" {new}"
            if new != text[start:end]:
                yield Replacement(start, end, new)


def _sides(found: regex.Match[str]) -> tuple[str, ...]:
    """What the names of the groups of each time begin with."""
    return ("",) if found["to_hour"] is None else ("", "to_")


def _is_better_in_digits(found: regex.Match[str]) -> bool:
    """Times with minutes, those from one part of the day to another, with an hour after twelve,
    and of a part of the day behind a date; those in words with 时, 刻 and of the morning."""
    sides = _sides(found)
    if found["part"] and found["sign"] and _DATE.search(found.string, 0, found.start()):
        return True
    is_in_words = not all(found[f"{side}hour"].isdecimal() for side in sides)
    is_odd = any(
        found[f"{side}sign"] == "时" or numeral_value(found[f"{side}hour"]) > _HALF
        for side in sides
    )
    is_of_morning = is_in_words and found["part"] in MORNING
    if len(sides) > 1 and (is_odd or is_of_morning or (found["part"] and found["to_part"])):
        return True
    has_minutes = any(found[f"{side}minute"] for side in sides)
    if has_minutes or found["part_of_hour"]:
        if is_in_words and found["part_of_hour"] in _QUARTERS:
            return True
        return is_odd or is_of_morning or not (is_in_words or found["part_of_hour"])
    return is_of_morning and (found["part"] in _EARLY or found.end() == len(found.string))


def _loses_part(found: regex.Match[str]) -> bool:
    """Whether the digits tell the part of the day, or networks do not know it."""
    if found["part"] is None:
        return False
    is_late = _hour(found, "") != numeral_value(found["hour"])
    has_minutes = found["minute"] or found["to_minute"]
    return is_late or found["part"] in _UNKNOWN or not (found["to_hour"] is None or has_minutes)


def _in_digits(found: regex.Match[str], side: str) -> str:
    part_of_hour = found[f"{side}part_of_hour"]
    minute = MINUTES[part_of_hour] if part_of_hour else numeral_value(found[f"{side}minute"] or "0")
    return f"{_hour(found, side)}:{minute:02}"


def _hour(found: regex.Match[str], side: str) -> int:
    return of_whole_day(
        numeral_value(found[f"{side}hour"]), found[f"{side}part"] or found["part"], "zh"
    )
