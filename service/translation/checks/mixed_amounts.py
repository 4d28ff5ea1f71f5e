"""Chinese amounts with several scales, as 1亿2000万, and two with one, as 3-5万 and 三四万: of the
first networks make two numbers, and of the others 3-50,000 and 340,000."""

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
_AMOUNT = r"\d{1,4}(?:\.\d{1,2})?"
_RANGE = regex.compile(
    rf"(?<![\d.,:：/年月日第-])(?P<low>{_AMOUNT})\s?(?P<to>[-–—~～至到])\s?(?P<high>{_AMOUNT})"
    r"(?P<scale>[百千]?[万亿]|万亿)(?![万亿])"
)
_IN_WORDS = regex.compile(
    r"(?<![\d第点一二三四五六七八九十百千万亿两零〇])(?P<low>[一二两三四五六七八])(?P<high>[二三四五六七八九])"
    r"(?P<scale>[十百千]?[万亿])(?![一二三四五六七八九十百千万亿两零〇分])"
)
_NUMBER = regex.compile(r"\d+")
_WORDS = frozenset("至到")
_DIGITS, _UNITS = "零一二三四五六七八九", ("", "十", "百", "千")
_MYRIAD, _MILLION, _HUNDRED_MILLION = 10**4, 10**6, 10**8


def find_mixed(text: str) -> Iterator[InDigits]:
    """Those of a text: one number has at most one scale, and of two each has its own. Linear
    time."""
    if not any(scale in text for scale in "万亿千"):
        return
    for found in _FOUND.finditer(text):
        value = chinese_value(_NUMBER.sub(_numeral, found.group()))
        if value is not None:
            yield InDigits(*found.span(), _written(value))
    for found in _RANGE.finditer(text):
        low, to, high, scale = found.group("low", "to", "high", "scale")
        if Decimal(low) < Decimal(high):
            yield InDigits(*found.span(), f"{low}{scale}{to if to in _WORDS else '-'}{high}{scale}")
    for found in _IN_WORDS.finditer(text):
        low, high = (chinese_value(found[name]) or 0 for name in ("low", "high"))
        if high == low + 1:
            yield InDigits(*found.span(), _between(low, high, found["scale"]))


def _between(low: int, high: int, scale: str) -> str:
    """Both numbers, with 万 or 亿."""
    times = chinese_value(scale[:-1]) or 1
    return f"{low * times}{scale[-1]}-{high * times}{scale[-1]}"


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
