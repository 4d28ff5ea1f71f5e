"""Cut one over-long sentence into parts that fit the model, at the best boundaries.

The joined parts equal the sentence. The number of characters tokenized is linear in its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

CountTokens = Callable[[str], int]
IsEnd = Callable[[str], bool]
"""Whether a sentence may end behind a text that has a full stop at its end."""

_CLOSING = r"[\p{Pf}\p{Pe}\"'」』]*"
_SPACED_CLOSING = r"(?:»(?=[\s.,;:!?]|$)\s*)?"
"""A French closing quotation mark after the space before it; German » stands before a letter."""
_STOP = (
    r"(?<!(?<!\p{L})(?:\p{Lu}\p{Ll}{0,3}|\p{Ll})|\d|\b[ap]\.\s?m(?=\.\s\p{Ll}))\."
    rf"(?={_CLOSING}\s(?!\d))"
)
"""A full stop, but not of a number, before a number, of a title, of an initial, z. B. or p.m."""
_BESIDE = rf"(?:(?<=\p{{Lo}}.)|(?=\p{{Lo}}|{_CLOSING}\s))"
"""Behind an ASCII mark of a sentence: of a number it is beside no space, and no Chinese word."""
_BOUNDARIES = (
    regex.compile(rf"(?:[。！？…؟।]|[!?]{_BESIDE}|{_STOP})+{_CLOSING}\s*{_SPACED_CLOSING}"),
    regex.compile(rf"(?:[；：，、،]|[;:,]{_BESIDE}){_CLOSING}\s*"),
    regex.compile(
        r"(?<![\s«.])\s++(?=[(（\[])|(?=（)|(?<=\p{Han})(?<![至到和與与及或从從在第约約])(?=\()"
    ),
    regex.compile(r"(?<![«.\d])\s+(?!\d)"),
    regex.compile(r"(?<![«.\d])\s+"),
    regex.compile(r"(?<!«|\.)\s+"),
    regex.compile(r"(?<!«|\d\.)\s+"),
    regex.compile(r"(?V1)[\p{Lo}--[至到和与與及或从從在第约約]]\p{M}*+" + _CLOSING),
)
"""The best first; the last is in no number, no Latin word and no range."""
_NUM_OUTSIDE = 3
"""How many of them are better outside of brackets than any inside."""
_CLOSED = regex.compile(r"[^()（）]{0,200}[)）]")
_LONGEST_BRACKETS = 200
_CONTINUATION = regex.compile(r"[!?;:,！？；：，、。\p{Pe}”’]|»(?=[\s.,;:!?]|$)")
"""What no part begins with, such as French marks, which have a space before them."""
_GRAPHEME = regex.compile(r"\X")
_GRAPHEME_WINDOW = 64
_LETTER_OR_DIGIT = regex.compile(r"(?r)\p{L}|\d")
_WORD_END = regex.compile(r"(?r)\p{Han}{2}|\p{L}")
"""The last letter, or two of Chinese: most of its words have two, as 下午."""
_LONGEST_END = 40
"""How many characters tell whether a full stop is of an abbreviation."""
_NEAR_ENOUGH = 0.9
_MAX_TRIES = 16
_MAX_GROWTH = 4


def split_to_fit(
    text: str, max_tokens: int, count_tokens: CountTokens, is_end: IsEnd = bool
) -> Iterator[str]:
    """Yield parts of at most `max_tokens` tokens each, as long as possible.

    White space around a part does not count. A single code point that does not fit is its own part.
    """
    start, size = 0, max_tokens
    last = _letter_before_number(text)
    while start < len(text):
        size = _longest_fitting(text, start, size, max_tokens, count_tokens)
        end = _best_boundary(text, start, start + size, last, is_end)
        if end < start + size and not _fits(text[start:end], max_tokens, count_tokens):
            end = start + size
        yield text[start:end]
        start = end


def _letter_before_number(text: str) -> int:
    """Where the last letter is if the text ends with a number, which needs a word; otherwise 0."""
    last = _LETTER_OR_DIGIT.search(text)
    found = _WORD_END.search(text) if last and last.group().isdecimal() else None
    return found.start() if found else 0


def _fits(text: str, max_tokens: int, count_tokens: CountTokens) -> bool:
    return count_tokens(text.strip()) <= max_tokens


def _longest_fitting(
    text: str, start: int, guess: int, max_tokens: int, count_tokens: CountTokens
) -> int:
    """Nearly the most characters from `start` that fit, by interpolation; at least 1."""
    fitting, too_long = 0, len(text) - start + 1
    size, attempt, is_bounded = guess, 0, False
    while too_long - fitting > 1 and (attempt < _MAX_TRIES or not fitting):
        size = min(max(size, fitting + 1), too_long - 1)
        tokens = count_tokens(text[start : start + size].strip())
        if tokens > max_tokens:
            too_long, is_bounded = size, True
        else:
            fitting = size
            if tokens >= _NEAR_ENOUGH * max_tokens:
                break
        attempt += 1
        if is_bounded and attempt % 3 == 0:  # interpolation is slow where token density varies
            size = (fitting + too_long) // 2
        else:
            size = min(size * max_tokens // max(tokens, 1), _MAX_GROWTH * size)
    return max(fitting, 1)


def _best_boundary(text: str, start: int, end: int, last: int, is_end: IsEnd) -> int:
    """The best cut in the second half of text[start:end], with the `last` letter behind it if that
    can be; the text's end if `end` reaches it."""
    if end >= len(text):
        return len(text)
    middle = start + (end - start) // 2
    ends = [last, end] if middle < last < end else [end]
    cuts = (_boundary(text, middle, most, is_end) for most in ends)
    return next(filter(None, cuts), 0) or _grapheme_boundary(text, start, end)


def _boundary(text: str, middle: int, end: int, is_end: IsEnd) -> int:
    """The last of the best boundaries of text[middle:end]; 0 without. Of a part that ends inside
    brackets networks close none."""
    outside = [(pattern, True) for pattern in _BOUNDARIES[:_NUM_OUTSIDE]]
    for pattern, is_outside in (*outside, *((pattern, False) for pattern in _BOUNDARIES)):
        found = (m for m in pattern.finditer(text, middle, end) if _is_boundary(text, m, is_end))
        cuts = [m.end() for m in found if not (is_outside and _is_in_brackets(text, m.end()))]
        if cuts and cuts[-1] > middle:
            return cuts[-1]
    return 0


def _is_in_brackets(text: str, place: int) -> bool:
    start = max(0, place - _LONGEST_BRACKETS)
    opening = max(text.rfind(sign, start, place) for sign in "(（")
    closing = max(text.rfind(sign, start, place) for sign in ")）")
    return opening > closing and _CLOSED.match(text, place) is not None


def _is_boundary(text: str, found: regex.Match[str], is_end: IsEnd) -> bool:
    """Whether a text may be cut behind what was found in it."""
    end = found.end()
    if _CONTINUATION.match(text, end):
        return False
    return found[0][:1] != "." or is_end(text[max(0, end - _LONGEST_END) : end])


def _grapheme_boundary(text: str, start: int, end: int) -> int:
    """The last grapheme boundary at or before `end`; `end` if none is near."""
    begin = max(start, end - _GRAPHEME_WINDOW)
    clusters = _GRAPHEME.finditer(text, begin, min(len(text), end + _GRAPHEME_WINDOW))
    starts = [m.start() for m in clusters if begin < m.start() <= end]
    return starts[-1] if starts else end
