"""Plain text: every line is translated by itself, and blank lines stay."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.documents.encodings import decode
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
)

_SEGMENT_CHARACTERS = 1000
_LINE_END = regex.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_SENTENCE_END = regex.compile(r"[.!?](?=\s)|[。！？]|\s")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Cut a text at line ends into segments of bounded size; a longer line at sentence ends."""
    text, encode = decode(content)
    places = [
        Place(start, end, Segment(text[start:end])) for start, end in _cuts(text) if start < end
    ]
    return TextFile(PlacedText(text, places), encode)


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _SEGMENT_CHARACTERS:
        most = start + _SEGMENT_CHARACTERS
        end = _last_end(_LINE_END, text, start, most) or _last_end(_SENTENCE_END, text, start, most)
        yield start, end or most
        start = end or most
    yield start, len(text)


def _last_end(pattern: regex.Pattern[str], text: str, start: int, most: int) -> int:
    """The end of the last match in text[start:most], or 0."""
    return max((match.end() for match in pattern.finditer(text, start, most)), default=0)
