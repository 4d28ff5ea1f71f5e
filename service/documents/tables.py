"""CSV and TSV: cells with words are translated; quotes, and what separates cells, stay.

Python's reader of CSV tells no offsets, and its writer quotes all cells alike.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import regex

from service.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
    is_worded,
)

_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 4000
_QUOTED = regex.compile(r'"[^"]*+"')
_FORMULA = "="


def parse_csv(content: bytes, options: FileOptions) -> TextFile:
    """The delimiter is what most of the first lines have, and of several the one that the first
    line has most of."""
    decoded = decode(content, options.source)
    first, *others = _QUOTED.sub("", decoded.text[:_SAMPLE_CHARACTERS]).splitlines() or [""]

    def use(sign: str) -> tuple[int, int]:
        return sum(sign in line for line in (first, *others)), first.count(sign)

    return _parse(decoded, max(_DELIMITERS, key=use))


def parse_tsv(content: bytes, options: FileOptions) -> TextFile:
    """Cells are between tabs."""
    return _parse(decode(content, options.source), "\t")


def _parse(decoded: DecodedText, delimiter: str) -> TextFile:
    places = []
    for start, end, is_quoted in _cells(decoded.text, delimiter):
        written = decoded.text[start:end]
        value = written[1:-1].replace('""', '"') if is_quoted else written
        if is_worded(value) and not value.startswith(_FORMULA):
            spell = functools.partial(_spelled, delimiter, is_quoted, written[:1])
            places.append(Place(start, end, Segment(value), spell))
    return TextFile(decoded, places)


def _cells(text: str, delimiter: str) -> Iterator[tuple[int, int, bool]]:
    """Where cells stand, with their quotes, and whether they have some. What goes on behind its
    quotes is a text as it stands, or no text if a delimiter is in the quotes."""
    mark = regex.escape(delimiter)
    cell = regex.compile(
        rf'(?:(?P<quoted>"(?:[^"]++|"")*+")|(?!"))(?P<rest>[^{mark}\n\r]*+)'
        rf"(?=(?P<end>{mark}|\r\n|\n|\r|\Z))"
    )
    position = 0
    while position < len(text):
        found = cell.match(text, position)
        if found is None:
            line = text.count("\n", 0, position) + 1
            raise invalid("CSV", f"a quoted cell of line {line} does not end")
        quoted, rest = found.group("quoted", "rest")
        if not (quoted and rest and any(sign in quoted for sign in (delimiter, "\n", "\r"))):
            yield *found.span(), bool(quoted and not rest)
        position = found.end("end")


def _spelled(delimiter: str, is_quoted: bool, first: str, value: str) -> str:
    """A cell with this value. `first`: the source's first character, which may be a quote that
    quotes nothing."""
    is_read_as_quoted = value.startswith('"') and first != '"'
    if is_quoted or is_read_as_quoted or any(sign in value for sign in (delimiter, "\n", "\r")):
        return '"' + value.replace('"', '""') + '"'
    return value
