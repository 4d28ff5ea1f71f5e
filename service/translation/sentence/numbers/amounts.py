"""Numbers in digits, as the target language writes them, for networks that get them wrong.

1,234.5 is 1.234,5 in German, and 45 million is 4500万 in Chinese.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

import regex

from model.text.spans import disjoint
from service.translation.checks.amounts_in_words import MANY, value_of_many
from service.translation.checks.calendar_ranges import find_calendar_ranges
from service.translation.checks.chinese_decimals import find_prices
from service.translation.checks.dated_weekdays import find_dated_days
from service.translation.checks.dates import DATED, find_dates
from service.translation.checks.halves import find_halves
from service.translation.checks.mixed_amounts import find_mixed
from service.translation.checks.more_than import MORE_THAN, find_more_than, find_several
from service.translation.checks.number_words import ABBREVIATED_SCALES
from service.translation.checks.numbers import BELOW_ZERO, has_minus, with_known_digits
from service.translation.checks.spelled_out import find_spelled_out
from service.translation.language.chinese import SIMPLIFIED, to_simplified
from service.translation.markup.flow import MARK
from service.translation.sentence.numbers.chinese_numbers import find_discounts
from service.translation.sentence.numbers.days_of_month import find_days_of_month
from service.translation.sentence.numbers.eras import find_english_eras
from service.translation.sentence.numbers.hours import find_hours
from service.translation.sentence.numbers.numerals import find_numerals
from service.translation.sentence.numbers.scaled import find_scaled
from service.translation.sentence.numbers.swiss_amounts import find_swiss_amounts
from service.translation.sentence.ordinals import find_english_ordinals
from service.translation.sentence.replaced import Replaced, Replacement

_MOST_DIGITS = 24
_MOST_DECIMALS = 2


@dataclass(frozen=True)
class _Writing:
    """How a language writes numbers: its marks, the words for large values, the largest first, with
    their singular, other words that multiply, and what tells that there are more."""

    group: str
    decimal: str
    large: tuple[tuple[int, str, str], ...]
    others: Mapping[str, int]
    more_than: str
    is_spaced: bool = True

    @property
    def grouped(self) -> str:
        group = regex.escape(self.group)
        return rf"\d{{1,3}}(?:{group}\d{{3}})+"

    @functools.cached_property
    def scales(self) -> Mapping[str, int]:
        """The words that multiply, in small letters."""
        large = {word.lower(): scale for scale, *words in self.large for word in words}
        return large | dict(self.others)


# By language, unlike SCALES of service.translation.checks.number_words: a German Billion is 10^12.
_WRITINGS = {
    "en": _Writing(
        ",",
        ".",
        (
            (10**18, "quintillion", "quintillion"),
            (10**15, "quadrillion", "quadrillion"),
            (10**12, "trillion", "trillion"),
            (10**9, "billion", "billion"),
            (10**6, "million", "million"),
        ),
        {"thousand": 10**3, "mn": 10**6, "bn": 10**9},
        "more than ",
    ),
    "de": _Writing(
        ".",
        ",",
        (
            (10**18, "Trillionen", "Trillion"),
            (10**15, "Billiarden", "Billiarde"),
            (10**12, "Billionen", "Billion"),
            (10**9, "Milliarden", "Milliarde"),
            (10**6, "Millionen", "Million"),
        ),
        {"tausend": 10**3, "tsd": 10**3, "mio": 10**6, "mrd": 10**9, "bio": 10**12},
        "mehr als ",
    ),
    "fr": _Writing(
        "\u202f",
        ",",
        ((10**9, "milliards", "milliard"), (10**6, "millions", "million")),
        {"mille": 10**3},
        "plus de ",
    ),
    "zh": _Writing(
        ",",
        ".",
        ((10**12, "万亿", "万亿"), (10**8, "亿", "亿"), (10**4, "万", "万")),
        {
            "百": 10**2,
            "千": 10**3,
            "千万": 10**7,
            "百万": 10**6,
        },
        MORE_THAN,
        is_spaced=False,
    ),
}
_NUMBER = regex.compile(
    r"(?<![\p{Latin}\d_]|\d[.,])\d++(?:[.,:/\u202f-]\d++)*+"
    r"(?:[ \u00a0]?+(?P<scale>\p{Latin}++|[百千万亿]++))?+"
)
_POINT = regex.compile(rf"\.(?=\s*{MARK}|\W*+\w)")
"""Of an abbreviation; that at the end of a text is of the sentence."""
_MONTH = regex.compile(r"(?:\s?[~～〜—–至到]\s?\d\d?)?月")
_TO = regex.compile(r"[-至到]")
_WORD = regex.compile(r"[\p{Latin}\d_]")
_NO_COUNT = regex.compile(r"\d(?:st|nd|rd|th|s|\.)$")
"""An ordinal or a decade."""
_UNITS_WITHIN = {
    "en": {
        "岁": "years old",
        "年": "years",
        "天": "days",
        "小时": "hours",
        "公斤": "kilograms",
        "公里": "kilometers",
        "米": "meters",
        "倍": "times",
        "元": "yuan",
    }
}
"""By target, words for what stands inside a Chinese number, as in 三岁半 and 3块5."""
_DISCOUNTS = {"en": "{} off", "de": "{} Rabatt"}
_TENS = ("", "十", "百", "千")
_UNITS = "个年天斤公里小时倍岁米元"
_DAYTIME = regex.compile(r"[ap]m(?!\p{L})")


def find_amounts(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The numbers of a text as the target writes them, but for those that are a part of a word,
    months in Chinese, and what only one of the languages writes so; dates, and English hours as
    those of a whole day. Linear time."""
    text = to_simplified(text) if source == SIMPLIFIED else text
    kinds = _kinds(with_known_digits(text), source, target)
    yield from disjoint(itertools.chain.from_iterable(kinds))


def _kinds(text: str, source: str, target: str) -> Iterator[Iterable[Replacement]]:
    """The amounts of each kind, those first that others may be a part of."""
    other = _WRITINGS.get(target)
    if target in DATED:
        days = find_dated_days(text, source)
        yield (Replacement(one.start, one.end, one.written(target)) for one in days)
        dates = find_dates(text, source)
        yield (Replacement(one.start, one.end, one.written(target)) for one in dates)
    yield find_days_of_month(text, source, target)
    yield find_english_eras(text, source, target)
    ranges = find_calendar_ranges(text, source, target)
    yield (Replacement(one.start, one.end, one.written) for one in ranges)
    hours = find_hours(text, source)
    yield (Replacement(one.start, one.end, one.written.strip()) for one in hours)
    if other is not None and source != target:
        yield _discounts(text, source, target)
        yield _many(text, source, target)
        yield _halves(text, source, target)
        yield _swiss(text, source, target)
        yield _spelled_out(text, source, target)
        scaled = find_scaled(text, source)
        yield (Replacement(one.start, one.end, _large(one.value, other)) for one in scaled)
        yield _mixed(text, source, target)
        yield _more_than(text, source, other, target)
        yield _numerals(text, source, other)
    if (source, target) == ("en", "zh"):
        yield find_english_ordinals(text)
    yield _find_numbers(text, source, target)


def _more_than(text: str, source: str, writing: _Writing, target: str) -> Iterator[Replacement]:
    found = (*find_more_than(text), *find_several(text)) if source == "zh" else ()
    for start, end, digits in found:
        before = writing.more_than if digits.startswith(MORE_THAN) else ""
        for number in _find_numbers(digits, source, target):
            yield Replacement(start, end, f"{before}{number.new}")


def _mixed(text: str, source: str, target: str) -> Iterator[Replacement]:
    for start, end, digits in find_mixed(text) if source == "zh" else ():
        digits = _TO.sub("–", digits)
        numbers = [*_find_numbers(digits, source, target)]
        yield Replacement(start, end, Replaced(digits, numbers).text)


def _discounts(text: str, source: str, target: str) -> Iterator[Replacement]:
    for start, end, percent in find_discounts(text) if source == "zh" else ():
        yield Replacement(start, end, _DISCOUNTS.get(target, "{}").format(percent))


def _many(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Hundreds of millions as 数亿."""
    for found in MANY.finditer(text) if (source, target) == ("en", "zh") else ():
        amount = _large(Decimal(value_of_many(found)), _WRITINGS[target])
        count = amount.rstrip("万亿")
        yield Replacement(*found.span(), f"数{_TENS[len(count) - 1]}{amount[len(count) :]}")


def _halves(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those without a unit in them, and those and prices with a unit that the target names."""
    prices = find_prices(text) if source == "zh" else ()
    for start, end, digits in (*find_halves(text, source), *prices):
        number = digits.rstrip(_UNITS)
        unit = digits[len(number) :].removesuffix("个")
        word = _UNITS_WITHIN.get(target, {}).get(unit, "")
        if word or not unit:
            written = localised(number, source, target) or number
            yield Replacement(start, end, f"{written} {word}".rstrip())


def _swiss(text: str, source: str, target: str) -> Iterator[Replacement]:
    for start, end, francs, number in find_swiss_amounts(text, source):
        yield Replacement(start, end, f"{francs}{localised(number, source, target) or number}")


def _spelled_out(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those in words, but for ordinals, decades and signs."""
    for start, end, digits in find_spelled_out(text, source, target) if source != "zh" else ():
        if digits.lstrip("-")[0].isdecimal() and not _NO_COUNT.search(digits):
            numbers = [*_find_numbers(digits, source, target)]
            yield Replacement(start, end, Replaced(digits, numbers).text)


def _numerals(text: str, source: str, writing: _Writing) -> Iterator[Replacement]:
    for found in find_numerals(text) if source == "zh" else ():
        values = [str(value) if found.is_year else _large(value, writing) for value in found.values]
        yield Replacement(found.start, found.end, "–".join(values) + found.unit)


def localised(number: str, source: str, target: str) -> str | None:
    """A number in digits with the target's marks; None if that is not known."""
    return _in_target(number, None, _WRITINGS.get(source), _WRITINGS.get(target))


def _find_numbers(text: str, source: str, target: str) -> Iterator[Replacement]:
    own, other = _WRITINGS.get(source), _WRITINGS.get(target)
    for match in _NUMBER.finditer(text):
        scale, end = None, match.end()
        if match["scale"] is not None:
            scale = own.scales.get(match["scale"].lower()) if own else None
            end = match.end() if scale else match.start("scale")
            if scale and _POINT.match(text, end) and match["scale"].lower() in ABBREVIATED_SCALES:
                end += 1
        written = text[match.start() : match.start("scale") if scale else end].rstrip(" \u00a0")
        end = end if scale else match.start() + len(written)
        if (_WORD.match(text, end) and not _DAYTIME.match(text, end)) or _MONTH.match(text, end):
            continue
        spelled = _in_target(written, scale, own, other)
        if spelled is not None:
            start = match.start() - has_minus(text, match.start())
            sign = text[start : match.start()]
            if text.endswith(BELOW_ZERO, 0, start):
                start, sign = start - len(BELOW_ZERO), "-"
            yield Replacement(start, end, sign + spelled)


def _in_target(
    written: str, scale: int | None, own: _Writing | None, other: _Writing | None
) -> str | None:
    """The number as the target language writes it; None if that is not known."""
    if scale is None and written.isdecimal():
        return written
    if own is None or other is None or len(written) > _MOST_DIGITS:
        return None
    if scale is not None and "-" in written:
        sides = [_in_target(side, scale, own, other) for side in written.split("-")]
        return None if None in sides else "–".join(filter(None, sides))
    is_grouped = regex.match(own.grouped, written) is not None
    whole = own.grouped if is_grouped else r"\d+"
    number = regex.fullmatch(rf"({whole})(?:{regex.escape(own.decimal)}(\d+))?", written)
    if number is None or (is_grouped and written[0] == "0"):
        return written if scale is None else None
    digits = number[1].replace(own.group, "")
    if scale is not None:
        value = Decimal(f"{digits}.{number[2] or 0}") * scale
        return _large(value, other)
    return _with_marks(digits, number[2], other, is_grouped=is_grouped)


def _with_marks(digits: str, decimals: str | None, writing: _Writing, *, is_grouped: bool) -> str:
    whole = f"{int(digits):,}".replace(",", writing.group) if is_grouped else digits
    return whole if decimals is None else f"{whole}{writing.decimal}{decimals}"


def _large(value: Decimal, writing: _Writing) -> str:
    """A value with the largest word that leaves few decimals, else in digits."""
    most = 1000 if writing.is_spaced else 10_000
    for scale, plural, singular in writing.large:
        factor = (value / scale).normalize()
        if 1 <= factor < most and -int(factor.as_tuple().exponent) <= _MOST_DECIMALS:
            whole, _, decimals = f"{factor:f}".partition(".")
            number = _with_marks(whole, decimals or None, writing, is_grouped=False)
            word = singular if factor == 1 else plural
            return f"{number} {word}" if writing.is_spaced else f"{number}{word}"
    whole, _, decimals = f"{value.normalize():f}".partition(".")
    return _with_marks(whole, decimals or None, writing, is_grouped=len(whole) > 4)
