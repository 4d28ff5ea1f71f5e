"""Values that words may have beside those of their numbers: 三成 is 30 %, 八五折 15 % off, and
half a million 500,000; and hundreds of millions have 100,000,000."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import regex

from service.translation.checks.amounts_in_words import MANY, value_of_many
from service.translation.checks.number_words import SCALES, chinese_value

_DIGIT = "[一二两三四五六七八九]"
_RULES: tuple[tuple[regex.Pattern[str], Callable[[regex.Match[str]], Decimal]], ...] = (
    (regex.compile(rf"(?P<a>{_DIGIT})成(?P<b>{_DIGIT})?"), lambda one: 10 * _value(one)),
    (regex.compile(rf"千分之(?P<a>{_DIGIT})"), lambda one: _value(one) / 10),
    (regex.compile(rf"万分之(?P<a>{_DIGIT})"), lambda one: _value(one) / 100),
    (
        regex.compile(rf"(?P<a>{_DIGIT})点?(?P<b>{_DIGIT})?折"),
        lambda one: 100 - 10 * _value(one),
    ),
    (regex.compile(rf"(?P<a>{_DIGIT})[块元](?P<b>{_DIGIT})"), lambda one: _value(one)),
    (
        regex.compile(r"半个?(?:小时|钟头)|\bhalf\san\shour\b|\bhalbe\sStunde\b", regex.IGNORECASE),
        lambda _: Decimal(30),
    ),
    (
        regex.compile(
            r"\bhalf\sa\s(?P<scale>thousand|million|billion|trillion)\b", regex.IGNORECASE
        ),
        lambda one: Decimal(SCALES[one["scale"].lower()]) / 2,
    ),
    (MANY, lambda one: Decimal(value_of_many(one))),
)
_MAYBE = re.compile("[成折块元半]|[千万]分之")
"""Every Chinese rule has one of these."""


def possible_values(text: str) -> Iterator[Decimal]:
    """Those of a text in simplified characters. Linear time."""
    has_chinese = not text.isascii() and _MAYBE.search(text) is not None
    small = text.lower()
    has_any = has_chinese or "half" in small or "halb" in small or "s of " in small
    for pattern, value in _RULES if has_any else ():
        yield from (value(one).normalize() for one in pattern.finditer(text))


def _value(found: regex.Match[str]) -> Decimal:
    """The two digits, of which the second is decimal."""
    digits = (chinese_value(found.groupdict().get(name) or "零") or 0 for name in ("a", "b"))
    return Decimal("{}.{}".format(*digits))
