"""Chinese numbers in words, by value, for networks that get them wrong."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import regex

from service.translation.checks.number_words import BEFORE_REPUBLIC, chinese_value, numeral_value

DIGITS = "一二三四五六七八九"
_NUMERAL = f"{DIGITS}两〇零十百千万亿"
_NUMERALS = regex.compile(
    rf"(?<![\d第双点{_NUMERAL}])(?P<percent>百分之)?(?:"
    rf"(?P<low>[{DIGITS}两])(?P<high>[{DIGITS}])(?P<unit>[十百千]万?|万)"
    rf"|(?:中华)?民国\s?(?P<of_republic>[{DIGITS}〇零十百]{{1,5}}|\d{{1,3}})(?=\s?年)"
    rf"|(?P<year>[一二][〇零{DIGITS}]{{3}})(?=年)"
    rf"|(?P<hour>[{DIGITS}两十]{{1,2}}|[12]?\d)点(?P<part>半|[一三]刻)"
    rf"|(?P<count>[{DIGITS}两十][{_NUMERAL}]{{1,19}}|(?<=百分之)[{DIGITS}零]|[{DIGITS}两零](?=点[{DIGITS}零]+[万亿]))"
    rf"(?:点(?P<decimals>[{DIGITS}零]++)(?P<scale>万亿|[万亿])?)?"
    rf")(?![{_NUMERAL}分月点]|进[制位]|年代)"
)
MINUTES = {"半": 30, "一刻": 15, "三刻": 45}


class Numeral(NamedTuple):
    """text[start:end] is a number in words; `values` are one, or two if it is between them. `unit`
    is % or, of a time, the minutes."""

    start: int
    end: int
    values: tuple[Decimal, ...]
    unit: str = ""
    is_year: bool = False


def find_numerals(text: str) -> Iterator[Numeral]:
    """The numbers of two characters and more: 一万二, 百分之五, 三点半, and 三四十, which is 30 to
    40."""
    for found in _NUMERALS.finditer(text):
        if values := tuple(_values(found)):
            minutes = f":{MINUTES[found['part']]}" if found["part"] else ""
            unit = "%" if found["percent"] else minutes
            is_year = (found["year"] or found["of_republic"]) is not None
            yield Numeral(*found.span(), values, unit, is_year)


def _values(found: regex.Match[str]) -> Iterator[Decimal]:
    if found["low"]:
        yield from map(_value, (found["low"] + found["unit"], found["high"] + found["unit"]))
    elif found["year"]:
        yield Decimal(_digits(found["year"]))
    elif of_republic := found["of_republic"]:
        yield BEFORE_REPUBLIC + _value(of_republic)
    elif hour := found["hour"]:
        yield _value(hour)
    elif chinese_value(found["count"]) is not None:
        decimals = _digits(found["decimals"] or "零")
        value = Decimal(f"{chinese_value(found['count'])}.{decimals}")
        yield (value * (chinese_value(found["scale"] or "一") or 1)).normalize()


def _value(numeral: str) -> Decimal:
    return Decimal(numeral_value(numeral))


def _digits(numeral: str) -> str:
    return "".join(str(chinese_value(char)) for char in numeral)
