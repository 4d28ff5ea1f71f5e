"""Amounts in digits with a scale that networks copy or lose: $60k, 1.2M, 3 trillion."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import regex

from service.translation.checks.amounts_in_words import in_billions
from service.translation.checks.numbers import LETTER_SCALES

_SCALES = {**LETTER_SCALES, "bn": 10**9}
_LETTERS = regex.compile(
    r"(?:(?<=[$€£¥]\s?|[⟧\ufffc])(?P<number>\d{1,3}(?:\.\d{1,3})?)(?P<scale>[kKmMbB]|bn|tn)"
    r"|(?<![\d.,])(?P<number>\d{1,3}\.\d)(?P<scale>[kKMB]|bn|tn)(?=\s(?:\p{Ll}{3,}s|people)\b)"
    r")(?![\p{L}\d'’/-])"
)
"""Of a currency, or decimals of several things: 10K is a run, 4K a screen and 1.2M a file's
size."""

_TRILLIONS = {
    "en": regex.compile(r"(?<![\w.,])(?P<number>\d{1,3}(?:,\d{3})*(?:\.\d{1,3})?)[ -]trillion\b"),
    "de": regex.compile(
        r"(?<![\w.,])(?P<number>\d{1,3}(?:\.\d{3})*(?:,\d{1,3})?) Billion(?:en)?\b"
    ),
}
_MARKS = {"en": str.maketrans("", "", ","), "de": str.maketrans(",", ".", ".")}


class Scaled(NamedTuple):
    """text[start:end] is an amount, and `said` the same in words that networks know."""

    start: int
    end: int
    said: str
    value: Decimal


def find_scaled(text: str, language: str) -> Iterator[Scaled]:
    """Those of a text. Billions of German are trillions."""
    for found in _TRILLIONS[language].finditer(text) if language in _TRILLIONS else ():
        number = Decimal(found["number"].translate(_MARKS[language]))
        yield _scaled(found, number * 10**12, language)
    for found in _LETTERS.finditer(text) if language == "en" else ():
        yield _scaled(found, Decimal(found["number"]) * _SCALES[found["scale"].lower()], language)


def _scaled(found: regex.Match[str], value: Decimal, language: str) -> Scaled:
    return Scaled(*found.span(), in_billions(value, language), value)
