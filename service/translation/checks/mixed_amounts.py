"""Chinese amounts in digits with several scales, as 1亿2000万 and 3万5千: networks take them for
two numbers, or lose one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import regex

from service.translation.checks.number_words import InDigits, chinese_value

_HUNDREDS = r"\d千(?:\d百)?|\d百"
_END = r"(?=$|[，。；！？、,;!?\s）)元块左起买卖的])"
_FOUND = regex.compile(
    rf"(?<![\d.,:：/第-])(?:\d{{1,4}}亿零?(?:\d{{1,4}}|{_HUNDREDS})万(?:零?\d{{4}}(?!\d))?"
    rf"|\d{{1,4}}万(?:零\d{{1,3}}|\d{{3,4}}|{_HUNDREDS}|\d{_END})|\d千\d百万?)"
    r"(?![\d万亿千百年月日号点时]|[.:：/]\d)"
)
_NUMBER = regex.compile(r"\d+")
_DIGITS, _UNITS = "零一二三四五六七八九", ("", "十", "百", "千")
_MYRIAD, _MILLION, _HUNDRED_MILLION = 10**4, 10**6, 10**8


def find_mixed(text: str) -> Iterator[InDigits]:
    """Those of a text, each as one number with at most one scale. Linear time."""
    for found in _FOUND.finditer(text) if any(scale in text for scale in "万亿千") else ():
        value = chinese_value(_NUMBER.sub(_numeral, found.group()))
        if value is not None:
            yield InDigits(*found.span(), _written(value))


def _numeral(number: regex.Match[str]) -> str:
    """A number of up to four digits in words, such as 四千八百零一."""
    places = zip(number.group(), reversed(_UNITS[: len(number.group())]), strict=True)
    words = "".join(_DIGITS[int(digit)] + (unit if digit != "0" else "") for digit, unit in places)
    return regex.sub("零+", "零", words).removesuffix("零")


def _written(value: int) -> str:
    if value % _MYRIAD or value < _MILLION:
        return f"{value:,}"
    if value < _HUNDRED_MILLION:
        return f"{value // _MYRIAD}万"
    return f"{(Decimal(value) / _HUNDRED_MILLION).normalize():f}亿"
