"""The words of a text."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from model.text.spans import Span

_WORD_BOUNDARY = regex.compile(r"(?V1w)\b|(?<=\p{L})(?=:\p{L})|(?<=\p{L}:)(?=\p{L})")
_GRAPHEME = regex.compile(r"\X")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
_MARK = regex.compile(r"\p{M}")
_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")


def words(text: str, spans: Sequence[tuple[int, int]]) -> list[Span]:
    """The words of a text and its punctuation marks: between the word boundaries of Unicode (UAX
    #29), and beside a colon, also between letters. Where a script has no spaces, between tokens. No
    grapheme is split."""
    graphemes = {match.start() for match in _GRAPHEME.finditer(text)}
    tokens = {offset for span in spans for offset in span}
    cuts = [
        cut
        for match in _WORD_BOUNDARY.finditer(text)
        if (cut := match.start()) in graphemes and (cut in tokens or not _is_inside(text, cut))
    ]
    ends = [*cuts, len(text)]
    return [
        Span(start, end)
        for start, end in zip([0, *cuts], ends, strict=True)
        if start < end and not text[start:end].isspace()
    ]


def is_unspaced(text: str) -> bool:
    """Whether it has a letter of a script without spaces."""
    return _UNSPACED.search(text) is not None


def _is_inside(text: str, cut: int) -> bool:
    """Whether the characters on both sides are of a script without spaces."""
    if not 0 < cut < len(text):
        return False
    return all(_UNSPACED.match(char) or _MARK.match(char) for char in text[cut - 1 : cut + 1])


def has_word_characters(text: str) -> bool:
    """Whether it has a letter or a digit, unlike punctuation."""
    return _LETTER_OR_DIGIT.search(text) is not None
