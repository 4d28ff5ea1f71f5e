"""Find the numbers of notes and other markers: they touch a word and are none of its letters."""

from __future__ import annotations

import regex

LONGEST_SYMBOL, MOST_TAGS = 12, 6
"""The most characters of a symbol or of a marker, and tags around it."""
_NUMBER = regex.compile(r"[\[(]?[\d,–*†‡§]+[\])]?")
_NOTED = regex.compile(r"(?:\p{L}\p{Ll}{2}|\p{Lo}|[.,;:!?\"”’)。，；：！？」』])\Z")
"""What a note's number stands after; it is a part of a formula after other letters and digits."""
_MARKED = regex.compile(r"(?:\p{L}\p{Ll}{2}|(?<!\d)[.,;!?\"”’)。，；！？」』])\Z")
"""What a number that is not a superscript is a marker after: 如图1 is text."""
_GOES_ON = regex.compile(r"\p{Ll}|[.,]?\d")


def is_note(text: str, before: str) -> bool:
    """Whether a superscript is the number of a note to what stands `before` it."""
    return len(text) <= LONGEST_SYMBOL and bool(_NUMBER.fullmatch(text) and _NOTED.search(before))


def is_marker(text: str, before: str, after: str) -> bool:
    """Whether an element that is not a script is a marker of the word `before` it."""
    return is_note(text, before) and bool(_MARKED.search(before)) and not _GOES_ON.match(after)
