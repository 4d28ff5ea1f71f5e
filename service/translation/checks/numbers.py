"""The numbers of a text by value, so that 1,000 and 1.000, 3.14 and 3,14 can be compared.

A number has all the values that its spelling allows: `1.234` is a thousand or one, `3 p.m.` is 3 or
15, `2 Millionen` is 2 or 2,000,000, but `2万` only 20,000 and `2 Mio.` 2,000,000.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import regex

from service.translation.checks.amounts_in_words import without_many
from service.translation.checks.dates import SHORT_DATE
from service.translation.checks.dotted_times import with_colons
from service.translation.checks.number_words import (
    ABBREVIATED_SCALES,
    BEFORE_REPUBLIC,
    SCALES,
    number_words,
)
from service.translation.checks.possible_values import possible_values
from service.translation.checks.spelled_out import in_digits

_MOST_DIGITS = 30
_NUMBER = regex.compile(
    r"(?<![\p{Latin}\d_])(?:\d{1,3}(?: \d{3})+(?![\d.,])|\d++(?:[.,'’\u00a0\u202f]\d++){0,15}+)"
)
_RUN, _MARK, _LAST_GROUP = re.compile(r"\d++"), re.compile(r"\D"), re.compile(r"\D(\d+)$")
_IN_WORD = regex.compile(r"(?<=[\p{Latin}_])\d++")
_GROUPED = regex.compile(r"\d{1,3}(?:(?P<mark>[ .,'’\u00a0\u202f])\d{3})(?:(?P=mark)\d{3})*+")
_HEAD = regex.compile(r"\d+(?:\D\d{2,3})*+")
"""What stands before a decimal mark, in Western or Indian groups: 3.5,000 is no number."""
_WITH_ZERO = regex.compile(r"[1-9](?:(?:\d{0,2}+|\d*+\D.*)\D\d\d0|\d{3,}+,000)")
"""1.500 is not 1.5: networks write 250,000 for 250.00, and 3500,000 for 3500. But 10500.000 is
10,500."""
_PARTED = regex.compile(
    r"(?=\d)(?:\d{1,4}+(?:([./:-])\d{1,2}+)\1\d{1,4}+(?!\d)|\d{1,2}+[:：]\d{2}+(?!\d)"
    r"|0\d: \d{2}(?!\d)|\d{1,2}+\.[0-5]\d(?=\s?(?i:[ap]\.?\s?m\b))"
    rf"|{SHORT_DATE})"
)
_MAYBE_PARTED = re.compile(r"\d[./:：-](?: |\d)")
_SCALE = regex.compile(r"[ \u00a0-]?(\p{Latin}+|[百千]?[万亿]+|[百千])")
_TO = regex.compile(
    r"(?:\s?[-~～–—至到]\s?|\s(?:to|or|and|bis|oder|und)\s)[^\w\s]?\d{1,4}(?:[.,]\d)?"
    r"(?=[万亿]|\s?(?:thousand|[mbtr]{1,2}illion|tausend|Milli(?:on|ard)en|Billionen)\b)"
)
_TIME = regex.compile(r"(?<=点)(?:(?P<half>半)|[一1]刻|(?P<three>[三3]刻))")
_PART_OF_HOUR = regex.compile(r"\bhalf past\b|\bhalb\b|quarter|viertel", regex.IGNORECASE)
_MINUTES = frozenset(map(Decimal, (15, 30, 45)))
_AND_A_HALF = regex.compile(
    r"(?:and (?:a )?half|et demie?|und eine?n? halbe?n?|einhalb)(?:\s(?P<scale>\p{L}++))?|半",
    regex.IGNORECASE,
)
_PARTS = ("half", "halb", "demi", "半", "quarter", "viertel")
"""What both of these have one of."""
_HALF = Decimal("0.5")
_MYRIADS = frozenset("万亿")
"""Unlike 千 these are never a prefix of a unit."""
_RANGE = r"(?:\s?(?:[-–—]|(?:to|or|and|till|until|bis|und|oder)\s)\s?[01]?\d(?:[:.]\d\d)?)?"
_AFTERNOON = regex.compile(
    rf"(?:[:.]\d\d)?{_RANGE}\s?(?:p\.?\s?m|Uhr\s(?:\d\d\s)?(?:mittags|nachmittags|abends|nachts))\b",
    regex.IGNORECASE,
)
_MORNING = regex.compile(rf"(?:[:.]\d\d)?{_RANGE}\s?a\.?\s?m\b", regex.IGNORECASE)
_LONGEST_RANGE = 32
_OF_AFTERNOON = regex.compile(
    r"(?:中午|下午|晚上?|傍晚|夜里|深夜|nachmittags|abends)\s?"
    r"(?:\d{1,2}(?:[:：点](?:\d\d分?)?)?\s?[-–—~～至到]\s?)?$",
    regex.IGNORECASE,
)
"""What stands before an hour of the second half of the day, or before a range's second hour."""
_REPUBLIC = regex.compile(r"民国\s?$")
_LONGEST_SCALE = 12
LETTER_SCALES = {"k": 10**3, "m": 10**6, "b": 10**9, "tn": 10**12}
"""Scales that touch their number, as in $60k."""
_CERTAIN_SCALES = frozenset(
    {
        *("thousand", "million", "trillion"),
        *("tausend", "millionen", "milliarde", "milliarden", "billionen"),
    }
)
"""Words to which the number before them always belongs, unlike in `2008 thousands came`."""
_MINUS = regex.compile(
    r"(?:(?<![\w.,:;)\]}%‰°℃/+*~^#–—-])[-−](?=\d)"
    r"|(?<=\p{Han})(?<!\d\s?\p{Han}{1,3})[-−]"
    r"(?:(?<=[为是在到至从由于和与或达约回被].)(?=\d)|(?=[\d.]++\s?[%‰℃°度元])))"
    r"(?!(?:19|20)\d\d(?!\d))"
)
"""A minus, no hyphen and no sign of a range: in Chinese that of 为-3 and 温-3℃, not of 氦-3."""
_MAYBE_MINUS = regex.compile(
    r"(?:[-−–—]\s?|\b(?:minus|negative|below|unter)\s|[负减])$", regex.IGNORECASE
)
_LONGEST_MINUS = 12
BELOW_ZERO = "零下"
_BELOW_ZERO = regex.compile(
    r"\s?(?:°[CF]?|℃|(?:degrees?|Grad)(?: (?:Celsius|Fahrenheit))?)?"
    r" (?:below (?:zero|freezing)|unter [Nn]ull)"
)
_OTHER_DIGIT = regex.compile(r"(?V1)[\d--0-9]")


class Number(NamedTuple):
    """A number as it is written, and the values that it may have."""

    written: str
    values: frozenset[Decimal]


class Numbers(NamedTuple):
    """`certain` numbers must have a counterpart in a translation; `possible` values may be one."""

    certain: Sequence[Number]
    possible: frozenset[Decimal]


class _Scale(NamedTuple):
    """What a word may multiply a number by; `is_certain` if it does so always."""

    values: Sequence[int]
    is_certain: bool

    def of(self, numbers: Iterable[Decimal]) -> set[Decimal]:
        """The numbers times what the word may stand for."""
        return {number * value for number in numbers for value in self.values}


def with_known_digits(text: str) -> str:
    """The text with a sign in place of each digit that this Python cannot read, because `regex` is
    of a later version of Unicode."""
    if text.isascii():
        return text
    return _OTHER_DIGIT.sub(lambda digit: digit[0] if digit[0].isdecimal() else "?", text)


def find_numbers(text: str) -> Numbers:
    """The numbers of a text in digits and in words. Linear time."""
    respelled = in_digits(with_colons(with_known_digits(text)))
    text = respelled.text
    words = list(number_words(without_many(text)))
    certain = [_signed(text, *found, respelled.written(*found[:2])) for found in _digits(text)]
    certain += _quarters(text)
    certain += [
        Number(
            respelled.written(word.start, word.end),
            frozenset(_with_year({Decimal(word.value)}, text, word.start, word.end)),
        )
        for word in words
        if word.is_certain
    ]
    inside = (match.group()[:_MOST_DIGITS] for match in _IN_WORD.finditer(text))
    possible = {Decimal(word.value) for word in words} | {Decimal(digits) for digits in inside}
    possible.update(possible_values(text))
    has_part = any(map(text.lower().__contains__, _PARTS))
    if has_part and _PART_OF_HOUR.search(text):
        possible |= _MINUTES | {value - 1 or Decimal(12) for value in possible}
    halves = _AND_A_HALF.finditer(text) if has_part else ()
    if scales := {_scale_of(half) for half in halves}:
        wholes = possible | {Decimal(0), Decimal(1)}
        possible |= {(value + _HALF) * scale for value in wholes for scale in {1, *scales}}
    return Numbers(certain, frozenset(possible | {-value for value in possible}))


def _scale_of(half: regex.Match[str]) -> int:
    """What the word behind a half multiplies it by."""
    return SCALES.get((half["scale"] or "").lower(), 1)


def _quarters(text: str) -> Iterator[Number]:
    """The minutes of 三点半, which is half past three or 3:30."""
    for found in _TIME.finditer(text) if "点" in text else ():
        minutes = 30 if found["half"] else 45 if found["three"] else 15
        yield Number(found.group(), frozenset(map(Decimal, (minutes, 2 if minutes == 30 else 4))))


def has_minus(text: str, start: int) -> bool:
    """Whether a minus, which is no hyphen, stands before the number that begins there."""
    return start > 0 and _MINUS.match(text, start - 1) is not None


def _signed(text: str, start: int, end: int, values: frozenset[Decimal], written: str) -> Number:
    """The number there, with its sign."""
    if has_minus(text, start):
        return Number(text[start - 1] + written, frozenset(-value for value in values))
    before = text[max(0, start - _LONGEST_MINUS) : start]
    if before.endswith(BELOW_ZERO):
        return Number(written, frozenset(-value for value in values))
    if _MAYBE_MINUS.search(before) or _BELOW_ZERO.match(text, end):
        values = values.union(-value for value in values)
    return Number(written, values)


def unmatched(source: Numbers, target: Numbers) -> tuple[list[str], list[str]]:
    """The numbers of source and target, as written, that have no counterpart."""
    lost, added = _left_over(source.certain, target.certain)
    return (
        [number.written for number in lost if not number.values & target.possible],
        [number.written for number in added if not number.values & source.possible],
    )


def _left_over(
    source: Sequence[Number], target: Sequence[Number]
) -> tuple[list[Number], list[Number]]:
    """Pair numbers that may be equal, those with the fewest values first."""
    waiting: dict[Decimal, list[int]] = {}
    for place, number in enumerate(target):
        for value in number.values:
            waiting.setdefault(value, []).append(place)
    paired: set[int] = set()
    lost: list[Number] = []
    for number in sorted(source, key=lambda one: len(one.values)):
        partner = _next_free(number, waiting, paired)
        if partner is None:
            lost.append(number)
        else:
            paired.add(partner)
    return lost, [number for place, number in enumerate(target) if place not in paired]


def _next_free(number: Number, waiting: dict[Decimal, list[int]], paired: set[int]) -> int | None:
    for value in sorted(number.values, reverse=True):
        places = waiting.get(value, [])
        while places:
            if (place := places.pop()) not in paired:
                return place
    return None


def _digits(text: str) -> Iterator[tuple[int, int, frozenset[Decimal]]]:
    """The numbers in digits, each with its place and values; of dates and times the parts."""
    position = 0
    found = _PARTED.finditer(text) if _MAYBE_PARTED.search(text) else ()
    parted = {match.start(): match.end() for match in found}
    while match := _NUMBER.search(text, position):
        start, end = match.span()
        if start in parted:
            position = parted[start]
            yield from _parts(text, start, position)
            continue
        position = end
        if values := _values(text, start, end):
            yield start, end, values
        else:  # a list without spaces, such as 0,2,4,6
            yield from _parts(text, start, end)


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int, frozenset[Decimal]]]:
    is_time = any(colon in text[start:end] for colon in ":：") or text.count(".", start, end) == 1
    for match in _RUN.finditer(text, start, end):
        value = Decimal(match.group())
        if is_time and match.start() > start and not value:
            continue  # 15:00 is 15 Uhr
        is_hour = is_time and match.start() == start
        values = _of_day({value}, text, start, end) if is_hour else {value}
        if not is_time and len(match.group()) == 4:
            values.add(value % 100)  # 2024 and 24
        if not is_time and len(match.group()) == 2 and match.end() == end:
            values |= {1900 + value, 2000 + value}
        yield *match.span(), frozenset(values)


def _values(text: str, start: int, end: int) -> frozenset[Decimal]:
    scale = _scale_after(text, end)
    values = set(_spelled(text[start:end], is_scaled=scale is not None))
    if scale is not None:
        scaled = scale.of(values)
        values = scaled if scale.is_certain else values | scaled
    elif (other := _TO.match(text, end)) and (scale := _scale_after(text, other.end())):
        values |= scale.of(values)  # 30-50万
    if end - start <= 2:
        values = _of_day(values, text, start, end)
    values = _with_year(values, text, start, end)
    if text[end : end + 1] == "折":  # 8折 is 20 % off
        values |= {100 - (10 * value if value < 10 else value) for value in values}
    is_decade = text[end : end + 1] == "s" or text.startswith("年代", end)
    if is_decade and end - start == 4:  # the 1990s are the 90er
        values |= {value % 100 for value in values}
    return frozenset(values)


def _with_year(values: set[Decimal], text: str, start: int, end: int) -> set[Decimal]:
    """The values of a number; those of a year of Taiwan's calendar are of ours, or may be."""
    if not text.startswith("年", end):
        return values
    years = {BEFORE_REPUBLIC + value for value in values if value < 1000}
    if years and _REPUBLIC.search(text[max(0, start - 3) : start]):
        return years
    return values | years if any(value >= 100 for value in values) else values


def _spelled(written: str, *, is_scaled: bool) -> Iterator[Decimal]:
    """The possible values of a number: its marks group thousands, or the last is decimal.
    `is_scaled`: 1.500 billion is 1.5."""
    written = written[:_MOST_DIGITS]
    if written.isdecimal():
        yield Decimal(written)
        return
    if _GROUPED.fullmatch(written):
        yield Decimal(_MARK.sub("", written))
    last = _LAST_GROUP.search(written)
    if last is not None and written.count(written[last.start()]) == 1:
        head = written[: last.start()]
        if _HEAD.fullmatch(head) and (is_scaled or not _WITH_ZERO.fullmatch(written)):
            yield Decimal(f"{_MARK.sub('', head)}.{last[1]}").normalize()


def _scale_after(text: str, end: int) -> _Scale | None:
    match = _SCALE.match(text, end, end + _LONGEST_SCALE + 1)
    if match is None:
        return None
    word = match[1].lower()
    if match[1] == "Billion":  # of English and of German
        return _Scale([10**9, 10**12], is_certain=True)
    if (value := ABBREVIATED_SCALES.get(word)) is not None:
        return _Scale([value], is_certain=True)
    if word[-1] in _MYRIADS:
        return _Scale([math.prod(SCALES[char] for char in word)], is_certain=True)
    value = SCALES.get(word) or (LETTER_SCALES.get(word) if text[end].isalpha() else None)
    return None if value is None else _Scale([value], is_certain=word in _CERTAIN_SCALES)


def _of_day(values: set[Decimal], text: str, start: int, end: int) -> set[Decimal]:
    """The values of an hour: 3 p.m. is also 15, and 12 a.m. is also 0."""
    if _AFTERNOON.match(text, end, end + _LONGEST_RANGE):
        return values | {value + 12 for value in values}
    if _MORNING.match(text, end, end + _LONGEST_RANGE):
        return values | {value % 12 for value in values}
    is_after = _OF_AFTERNOON.search(text[max(0, start - _LONGEST_RANGE) : start])
    return values | {value + 12 for value in values} if is_after else values
