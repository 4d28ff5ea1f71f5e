"""Chinese numbers that networks take for others: 8折 is 20 % off, and 零下5度 and 为-5 are below
zero."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.numbers import has_minus
from service.translation.sentence.carriers import Replacement

_DIGITS = "一二三四五六七八九"
_MINUS = regex.compile(r"(?<=\p{Han})[-−](?=\d)")
_BELOW_ZERO = regex.compile(rf"零下\s?(?:(?=\d)|(?P<digit>[{_DIGITS}十])(?=度|摄))")
_DISCOUNT = regex.compile(
    rf"打?\s?(?<![\d.,第{_DIGITS}十百千])(?:(?P<number>(?!10)[1-9][0-9]?(?:\.[0-9])?)|(?P<digits>[{_DIGITS}]{{1,2}}))\s?折"
    r"(?:优惠|扣)?(?=$|[\s，。；！？、,;!?)）起价后的促出特卖销])"
)
"""Of the words that begin with 折, some follow a number: 三折伞."""


def find_chinese_numbers(text: str) -> Iterator[Replacement]:
    """Those of a text that networks take for others."""
    for sign in _MINUS.finditer(text):
        if has_minus(text, sign.end()):
            yield Replacement(*sign.span(), f" {sign.group()}")
    for below in _BELOW_ZERO.finditer(text):
        digit = f"{_DIGITS}十".index(below["digit"]) + 1 if below["digit"] else ""
        yield Replacement(*below.span(), f" -{digit}")
    for discount in _DISCOUNT.finditer(text):
        paid = float(discount["number"] or "".join(map(_value, discount["digits"])))
        off = round(100 - (10 * paid if paid < 10 else paid), 1)
        yield Replacement(*discount.span(), f"{off:g}%折扣")


def _value(digit: str) -> str:
    return str(_DIGITS.index(digit) + 1)
