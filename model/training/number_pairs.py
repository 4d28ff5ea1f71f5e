"""Pairs with another number, in digits or in words.

A small corpus has few numbers, so a model learns some of them by heart: after "I am twenty-five
years old." everybody's age begins with twenty. Words come from num2words and cn2an.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from cn2an import an2cn
from num2words import num2words

from model.training.alignment import Pair
from model.training.gaps import Gap, base_languages, gap_at

WRITTEN = ("de", "en", "zh")
"""The languages whose numbers are known in words."""

_LEAST, _MOST = 13, 99
"""What is replaced: above hours and months, which have limits of their own, and in two digits."""
_DIGITS = r"[1-9]\d"
_NO_DIGITS = r"(?<![\w.,:/$€£¥-]){}(?![\w/:%°]|[.,-]\w|\.\s*[a-zäöü])"
_NO_NUMERALS = (
    r"(?<![第零〇一二两三四五六七八九十百千万亿几数.,:：/\d-]){}"
    r"(?!\s*[零〇一二两三四五六七八九十百千万亿几多来余月日号点时秒:：%°/\d-]|\.\d|分(?!钟)|年代|世纪)"
)
_PARTS = re.compile(
    r"o.clock|\d\s?[ap]m\b|\b[ap]\.m\b|\buhr\b|per\s?cent|prozent|hundred|thousand|million|milli|"
    r"billion|hundert|tausend|\bcents?\b|centur",
    re.IGNORECASE,
)
_MONTHS = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
)
"""What gives a number limits or is a part of it."""
_GROUPS = {"en": ",", "de": ".", "zh": ""}
_LEAST_GROUPED = 10_000
_MOST_ZEROS, _MOST_ZEROS_IN_EUROPE = 6, 4
"""German declines what follows millions."""
_DIGITS_SHARE, _MIXED_SHARE = 0.5, 0.15


class NumberGap(NamedTuple):
    gap: Gap
    languages: tuple[str, str]


def number_gaps(pairs: Sequence[Pair], languages: tuple[str, str]) -> list[NumberGap]:
    """The pairs with one number on each side, the same, from 13 to 99. Times, dates, centuries and
    shares do not count. None in a language that is not in WRITTEN."""
    first, second = base_languages(languages)
    if first not in WRITTEN or second not in WRITTEN:
        return []
    found = []
    for pair in pairs:
        matches = _only_number(pair[0], first), _only_number(pair[1], second)
        if matches[0] and matches[1] and _value(matches[0], first) == _value(matches[1], second):
            found.append(NumberGap(gap_at(pair, (matches[0], matches[1])), (first, second)))
    return found


def with_another_number(numbered: NumberGap, rng: random.Random) -> tuple[Pair, tuple[int, ...]]:
    """The pair with a random number, and its sides that may be a source.

    Half of the pairs have digits on both sides, so that digits of a source stay digits. The others
    have words on both sides; some have Chinese words and the other language's digits, as
    translators prefer for 三万五千, which are to be read only that way.
    """
    (first, second), gap = numbered.languages, numbered.gap
    number = _number(rng, _MOST_ZEROS if "zh" in numbered.languages else _MOST_ZEROS_IN_EUROPE)
    share = rng.random()
    if share < _DIGITS_SHARE:
        return gap.filled(digits(number, first), digits(number, second)), (0, 1)
    spelled = _spelled_in(gap.first, number, first), _spelled_in(gap.second, number, second)
    if share < _DIGITS_SHARE + _MIXED_SHARE and "zh" in numbered.languages:
        chinese = numbered.languages.index("zh")
        mixed = [digits(number, first), digits(number, second)]
        mixed[chinese] = spelled[chinese]
        return gap.filled(mixed[0], mixed[1]), (chinese,)
    return gap.filled(*spelled), (0, 1)


def digits(number: int, language: str) -> str:
    """35000 -> "35,000" in English; groups begin at five digits."""
    if number < _LEAST_GROUPED:
        return str(number)
    return f"{number:,}".replace(",", _GROUPS[language])


def words(number: int, language: str) -> str:
    """35000 -> "thirty-five thousand" in English, 三万五千 in Chinese."""
    if language != "zh":
        return str(num2words(number, lang=language)).replace(",", "")
    return re.sub("^一(?=十)", "", re.sub("^二(?=[千万亿])", "两", an2cn(number, "low")))


def _number(rng: random.Random, most_zeros: int) -> int:
    size = rng.random()
    if size < 0.6:
        return rng.randint(_LEAST, _MOST)
    if size < 0.8:
        return rng.randint(100, 999)
    if size < 0.9:
        return rng.randint(1000, 9999)
    return rng.randint(2, 99) * int(10 ** rng.randint(2, most_zeros))


def _spelled_in(around: tuple[str, str], number: int, language: str) -> str:
    """The words, with a capital at the start of a text."""
    spelled = words(number, language)
    return spelled if around[0].strip("\"'“„«") else spelled[0].upper() + spelled[1:]


def _only_number(text: str, language: str) -> re.Match[str] | None:
    found = list(_pattern(language).finditer(text))
    return found[0] if len(found) == 1 and not _is_limited(text) else None


def _is_limited(text: str) -> bool:
    return bool(_PARTS.search(text) or _MONTHS.search(text))


def _value(match: re.Match[str], language: str) -> int:
    text = match[0].lower()
    return int(text) if text.isdecimal() else _values(language)[text]


@functools.cache
def _values(language: str) -> dict[str, int]:
    return {words(number, language): number for number in range(_LEAST, _MOST + 1)}


@functools.cache
def _pattern(language: str) -> re.Pattern[str]:
    known = sorted(map(re.escape, _values(language)), key=len, reverse=True)
    either = f"(?:{'|'.join([*known, _DIGITS])})"
    frame = _NO_NUMERALS if language == "zh" else _NO_DIGITS
    return re.compile(frame.format(either), re.IGNORECASE)
