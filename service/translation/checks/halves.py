"""Numbers with a half in words: of two and a half hours networks make two hours, and of anderthalb
Stunden and hours."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import (
    TO_TWELVE,
    InDigits,
    numeral_value,
    words_value,
)

_HALF = {"en": "half", "de": "halb", "zh": "半"}
_AND_A_HALF = {
    "en": regex.compile(
        rf"(?<![\p{{L}}\d.,-])(?P<whole>{'|'.join(TO_TWELVE['en'])}|[0-9]{{1,3}})\sand\s(?:a|one)\shalf(?![\p{{L}}-])",
        regex.IGNORECASE,
    ),
    "de": regex.compile(
        rf"(?<![\p{{L}}\d-])(?:(?P<whole>ein|{'|'.join(TO_TWELVE['de'][1:])})einhalb|anderthalb)(?![\p{{L}}-])",
        regex.IGNORECASE,
    ),
    "zh": regex.compile(
        r"(?<![\d.一二三四五六七八九十百千万第])(?P<whole>[一二两三四五六七八九十]|[0-9]{1,3})"
        r"(?:个半(?=(?:小时|钟头|(?P<of_ge>月|星期|世纪|学期)))|(?P<unit>年|天|斤|公斤|公里|小时|倍|岁|米|里)半(?![载夜天边路数]))"
    ),
}
"""`of_ge`: what is counted with 个 also behind a decimal."""


def find_halves(text: str, language: str) -> Iterator[InDigits]:
    """Those of a text. Linear time."""
    has_some = language in _HALF and _HALF[language] in text
    for found in _AND_A_HALF[language].finditer(text) if has_some else ():
        yield InDigits(*found.span(), _written(found, language))


def _written(found: regex.Match[str], language: str) -> str:
    if language == "zh":
        unit = "个" if found["of_ge"] else found["unit"] or ""
        return f"{numeral_value(found['whole'])}.5{unit}"
    whole = found["whole"] or "ein"
    value = whole if whole.isdecimal() else words_value(whole)
    return f"{value}{'.' if language == 'en' else ','}5"
