"""Full-width letters and digits, which no network has learned: they are read as those of ASCII."""

from __future__ import annotations

import unicodedata

import regex

_DIGIT, _LETTER = "０-９", "Ａ-Ｚａ-ｚ"
FULL_WIDTH = regex.compile(f"[{_DIGIT}{_LETTER}＃＊【］〖〔『〈]")
"""One of them, a sign that networks take for a number, or a bracket."""
_RUN = regex.compile(
    rf"[＃＄＋－＠]?[{_DIGIT}{_LETTER}]++"
    rf"(?:(?:(?<=[{_DIGIT}])[：．，](?=[{_DIGIT}])|[－／＋＿＠＆＝])[{_DIGIT}{_LETTER}]++)*+％?|[＃＊]"
)
_WIDE = regex.compile("[！-～￠-￦【】Ⅰ-ⅿ]++")
_BRACKETS = str.maketrans("【】［］〖〗〔〕『』〈〉", "[][][][]“”《》")
_OFFSET = ord("！") - ord("!")
_HALVES = {char: char - _OFFSET for char in range(ord("！"), ord("～") + 1)}


def in_half_width(text: str) -> str:
    """The text with them and the signs between them in ASCII, of the same length."""
    if text.isascii() or FULL_WIDTH.search(text) is None:
        return text
    return _RUN.sub(lambda match: match.group().translate(_HALVES), text)


def with_narrow_brackets(text: str) -> str:
    """The text with [], “” and 《》 for brackets that networks lose, or end a sentence with."""
    return text.translate(_BRACKETS)


def narrowed(text: str) -> str:
    """A text that is all of full width, such as ￥ or ～～, in half the width."""
    if _WIDE.fullmatch(text) is None:
        return text
    return unicodedata.normalize("NFKC", with_narrow_brackets(text))
