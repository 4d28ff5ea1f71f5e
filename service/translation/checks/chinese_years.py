"""Chinese years and decades in words, in digits: 一九八四年 is 1984年, and 上世纪八十年代, as is
20世纪80年代, 1980年代."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import InDigits, chinese_value, numeral_value

_DIGITS = "一二三四五六七八九"
_YEAR = regex.compile(
    rf"(?<![\d第{_DIGITS}十百千万〇零])(?P<year>[一二][〇零{_DIGITS}]{{3}})(?=年(?!级))"
    rf"|(?:(?P<century>二十一?|十[{_DIGITS}]|(?<!\d)1\d|2[01])世纪|(?P<last>上个?世纪))"
    rf"的?(?P<tens>[{_DIGITS}]十|[0-9]0)年代"
    rf"|(?<![\d第{_DIGITS}十百千万])(?P<tens>[{_DIGITS}]十)年代"
    rf"|(?<=公元前?)(?P<alone>[{_DIGITS}十]{{1,3}})(?=世纪)"
)
_LAST_CENTURY = 20


def find_years(text: str) -> Iterator[InDigits]:
    """Those of a Chinese text, in their order. Linear time."""
    for found in _YEAR.finditer(text) if "年" in text or "世纪" in text else ():
        if (digits := _in_digits(found)) is not None:
            yield InDigits(*found.span(), digits)


def _in_digits(found: regex.Match[str]) -> str | None:
    if found["year"]:
        return "".join(str(chinese_value(char)) for char in found["year"])
    if found["alone"]:
        century = chinese_value(found["alone"])
        return None if century is None else str(century)
    tens = f"{numeral_value(found['tens']):02}年代"
    if found["last"]:
        return f"{_LAST_CENTURY - 1}{tens}"
    return f"{numeral_value(found['century']) - 1}{tens}" if found["century"] else tens
