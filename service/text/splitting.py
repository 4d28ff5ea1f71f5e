"""Cut one over-long sentence into parts that fit the model, at the best places.

Joined parts are exactly the sentence. The number of counted characters is linear in its length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

import regex

CountTokens = Callable[[str], int]

_CLOSING = r"[\p{Pf}\p{Pe}\"'」』]*"
_BOUNDARIES = (
    regex.compile(rf"(?:[。！？…؟।]|[.!?](?={_CLOSING}\s))+{_CLOSING}\s*"),
    regex.compile(rf"(?:[；：，、،]|[;:,](?={_CLOSING}\s)){_CLOSING}\s*"),
    regex.compile(r"\s+"),
)
_GRAPHEME = regex.compile(r"\X")
_GRAPHEME_WINDOW = 64
_NEAR_ENOUGH = 0.9
_MAX_TRIES = 16
_MOST_BYTES_A_CHARACTER = 4


def split_to_fit(text: str, max_tokens: int, count_tokens: CountTokens) -> Iterator[str]:
    """Yield parts of at most `max_tokens` tokens each, as long as possible."""
    start, size = 0, max_tokens
    while start < len(text):
        size = _longest_fitting(text, start, size, max_tokens, count_tokens)
        end = _best_boundary(text, start, start + size)
        if end < start + size and count_tokens(text[start:end]) > max_tokens:
            end = start + size
        yield text[start:end]
        start = end


def surely_fits(text: str, max_tokens: int) -> bool:
    """True if even one token a byte, and one for the word start, would fit. Tokenizers normalize,
    which makes eighteen characters of one at worst."""
    normalized = unicodedata.normalize("NFKC", text)
    return len(normalized.encode("utf-8", "surrogatepass")) < max_tokens


def _longest_fitting(
    text: str, start: int, guess: int, max_tokens: int, count_tokens: CountTokens
) -> int:
    """How many characters from `start` fit: nearly the most, found by interpolation."""
    fitting, too_long = 0, len(text) - start + 1
    size = guess
    for attempt in range(_MAX_TRIES):
        size = min(max(size, fitting + 1), too_long - 1)
        tokens = count_tokens(text[start : start + size])
        if tokens > max_tokens:
            too_long = size
        else:
            fitting = size
            if tokens >= _NEAR_ENOUGH * max_tokens:
                break
        if too_long - fitting <= 1:
            break
        is_lost = attempt % 3 == 2  # interpolation can creep where tokens are spread unevenly
        size = (fitting + too_long) // 2 if is_lost else size * max_tokens // max(tokens, 1)
    return fitting or max(1, (max_tokens - 1) // _MOST_BYTES_A_CHARACTER)


def _best_boundary(text: str, start: int, end: int) -> int:
    """The best cut in the second half of text[start:end]; `end` itself if it is the text's end."""
    if end >= len(text):
        return len(text)
    middle = start + (end - start) // 2
    for pattern in _BOUNDARIES:
        cut = max((m.end() for m in pattern.finditer(text, middle, end)), default=0)
        if cut > start:
            return cut
    return _grapheme_boundary(text, start, end)


def _grapheme_boundary(text: str, start: int, end: int) -> int:
    """The last place at or before `end` that parts no character sequence; `end` if none is near."""
    begin = max(start, end - _GRAPHEME_WINDOW)
    clusters = _GRAPHEME.finditer(text, begin, min(len(text), end + _GRAPHEME_WINDOW))
    starts = [m.start() for m in clusters if begin < m.start() <= end]
    return starts[-1] if starts else end
