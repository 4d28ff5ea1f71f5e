"""Numbers with a half in words: of two and a half hours networks make two hours, and of anderthalb
Stunden and hours."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import chinese_value
from service.translation.sentence.numbers.spoken_hours import HOURS
from service.translation.sentence.replaced import Replacement

_ENGLISH = HOURS["en"]
_GERMAN = ("ein", *HOURS["de"][1:])
_AND_A_HALF = {
    "en": regex.compile(
        rf"(?<![\p{{L}}\d.,-])(?P<whole>{'|'.join(_ENGLISH)}|[0-9]{{1,3}})\sand\s(?:a|one)\shalf(?![\p{{L}}-])",
        regex.IGNORECASE,
    ),
    "de": regex.compile(
        rf"(?<![\p{{L}}\d-])(?:(?P<whole>{'|'.join(_GERMAN)})einhalb|anderthalb)(?![\p{{L}}-])",
        regex.IGNORECASE,
    ),
    "zh": regex.compile(
        r"(?<![\d.一二三四五六七八九十百千万第])(?P<whole>[一二两三四五六七八九十]|[0-9]{1,3})"
        r"(?:个半(?P<unit>小时|钟头|月|星期|世纪|学期)|(?P<unit>年|天|斤|公斤|公里|小时|倍|岁|米|里)半(?![载夜天边路数]))"
    ),
}
_OF_GE = frozenset({"月", "星期", "世纪", "学期"})
"""What is counted with 个 also behind a decimal."""


def find_halves(text: str, language: str) -> Iterator[Replacement]:
    """Those of a text, in digits."""
    for found in _AND_A_HALF[language].finditer(text):
        yield Replacement(*found.span(), _written(found, language))


def _written(found: regex.Match[str], language: str) -> str:
    whole = (found["whole"] or "ein").lower()
    if language == "en":
        return f"{whole if whole.isdecimal() else _ENGLISH.index(whole) + 1}.5"
    if language == "de":
        return f"{_GERMAN.index(whole) + 1},5"
    value, unit = whole if whole.isdecimal() else chinese_value(whole), found["unit"]
    return f"{value}.5{'个' if unit in _OF_GE else ''}{unit}"
