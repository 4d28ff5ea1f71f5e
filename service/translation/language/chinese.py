"""Simplified and traditional Chinese. Models that know only simplified characters read and write
traditional ones through OpenCC, whose conversions of characters keep the length of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from opencc import OpenCC

SIMPLIFIED, TRADITIONAL = "zh", "zh-Hant"
HAN = regex.compile(r"\p{Han}")
HAN_RUN = regex.compile(r"\p{Han}++(?:[，、·]\p{Han}++)*+")
_OTHER_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Han}]")
EAST_ASIAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff00-\uffef]")
_LATIN_WORDS = regex.compile(
    r"(?<!\p{Latin})(?:\p{Latin}{2,}+[^\p{L}]++\p{L}{2}|\p{Latin}++(?:[^\p{L}]++\p{L}++){2})"
)
WITH_HAN = frozenset({"zh", "zh-Hant", "yue", "wuu", "ja", "ko"})
WITHOUT_HAN = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""Languages that are written with Chinese characters, and some in Latin letters."""
_CONVERTED = regex.compile("[^\0\ud800-\udfff]++")
_LEAST_SHARE = 0.1
"""Of the Chinese characters of a traditional text, those that simplified Chinese writes otherwise:
a third is usual."""
Pairs = Sequence[tuple[str, str]]


def with_traditional(pairs: Pairs) -> Pairs:
    """The pairs, with traditional Chinese wherever they have only simplified Chinese."""
    codes = {code for pair in pairs for code in pair}
    if SIMPLIFIED not in codes or TRADITIONAL in codes:
        return pairs
    sources = [(TRADITIONAL, b) for a, b in pairs if a == SIMPLIFIED]
    targets = [(a, TRADITIONAL) for a, b in pairs if b == SIMPLIFIED]
    both = [(SIMPLIFIED, TRADITIONAL), (TRADITIONAL, SIMPLIFIED)] if sources and targets else []
    return [*pairs, *sources, *targets, *both]


def is_chinese(text: str) -> bool:
    """Whether the text has twice as many Chinese characters as letters of others."""
    if text.isascii():
        return False
    num_han = len(HAN.findall(text))
    return num_han >= 2 * max(len(_OTHER_LETTER.findall(text)), 1)


def is_latin(text: str) -> bool:
    """Whether the text has three words in Latin letters or two long ones, and nothing Chinese."""
    return EAST_ASIAN.search(text) is None and _LATIN_WORDS.search(text) is not None


def is_traditional(text: str) -> bool:
    """Whether the text is written in traditional characters."""
    simplified = to_simplified(text)
    if simplified == text:
        return False
    changed = sum(a != b for a, b in zip(text, simplified, strict=True))
    return changed >= _LEAST_SHARE * len(HAN.findall(text))


def to_simplified(text: str) -> str:
    """The text in simplified characters, of the same length."""
    return text if _is_common(text) else _converted(text, "t2s")


def to_mainland(text: str) -> str:
    """A traditional text in simplified characters, and with the mainland's words for those of
    Taiwan: 鼠标 for 滑鼠. Its length may change."""
    return _converted(text, "tw2sp")


def to_traditional(text: str) -> str:
    """The text in the traditional characters of Taiwan, of the same length."""
    return _converted(text, "s2tw") if HAN.search(text) else text


def _is_common(text: str) -> bool:
    """Whether it has no Chinese characters but the 6,763 of GB 2312, which are simplified."""
    try:
        text.encode("gb2312")
    except UnicodeEncodeError:
        return not HAN.search(text)
    return True


def _converted(text: str, name: str) -> str:
    """The text after the conversion of that name. OpenCC stops at U+0000, and does without halves
    of surrogate pairs."""
    return _CONVERTED.sub(lambda part: _converter(name).convert(part[0]), text)


@cache
def _converter(name: str) -> OpenCC:
    from opencc import OpenCC  # 6 MB, which most servers never need

    return OpenCC(name)
