"""English amounts with a letter for their scale, as $60k and 1.2M: networks copy or lose it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import regex

from service.translation.checks.numbers import LETTER_SCALES

_SCALES = {**LETTER_SCALES, "bn": 10**9}
_WORDS = {10**6: "million", 10**9: "billion", 10**12: "trillion"}
_SCALED = regex.compile(
    r"(?:(?<=[$€£¥]\s?|[⟧\ufffc])(?P<number>\d{1,3}(?:\.\d{1,3})?)(?P<scale>[kKmMbB]|bn|tn)"
    r"|(?<![\d.,])(?P<number>\d{1,3}\.\d)(?P<scale>[kKMB]|bn|tn)(?=\s(?:\p{Ll}{3,}s|people)\b)"
    r")(?![\p{L}\d'’/-])"
)
"""Of a currency, or decimals of several things: 10K is a run, 4K a screen and 1.2M a file's
size."""


class Scaled(NamedTuple):
    """text[start:end] is an amount, and `said` the same in words that networks know."""

    start: int
    end: int
    said: str
    value: Decimal


def find_scaled(text: str, language: str) -> Iterator[Scaled]:
    """The amounts with a letter for their scale."""
    for found in _SCALED.finditer(text) if language == "en" else ():
        scale = _SCALES[found["scale"].lower()]
        value = Decimal(found["number"]) * scale
        word = _WORDS.get(scale)
        said = f"{found['number']} {word}" if word else f"{int(value):,}"
        yield Scaled(*found.span(), said, value)
