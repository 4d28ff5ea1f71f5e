"""HTML: a page is cut between blocks, and each part is translated as `format: html` would be."""

from __future__ import annotations

from collections.abc import Iterator

from service.translation.documents.encodings import decode
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
)
from service.translation.markup.elements import is_block, keeps_content, pair_tags
from service.translation.markup.scanner import Kind, scan

_SEGMENT_CHARACTERS = 2000


def parse(content: bytes, options: FileOptions) -> TextFile:
    """A page's file; its bytes must be UTF-8, or UTF-16 with a byte order mark."""
    source, encode = decode(content)
    return TextFile(place_page(source), encode)


def place_page(source: str) -> PlacedText:
    """The segments of a page of HTML or XHTML: blocks, or neighbouring ones together."""
    return PlacedText(
        source, [Place(*cut, Segment(source[slice(*cut)], "html")) for cut in _cuts(source)]
    )


def _cuts(source: str) -> Iterator[tuple[int, int]]:
    tokens = list(scan(source))
    partners = pair_tags(tokens)
    start = index = 0
    while index < len(tokens):
        token = tokens[index]
        if is_block(token.name) and token.start - start >= _SEGMENT_CHARACTERS:
            yield start, token.start
            start = token.start
        if token.kind is Kind.START and keeps_content(source, token):
            index = partners.get(index, index)
        index += 1
    if start < len(source):
        yield start, len(source)
