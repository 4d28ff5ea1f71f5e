"""Notebooks of Jupyter: the Markdown of their cells. The JSON around it stays."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import regex

from model.text.spans import Span
from service.documents import markdown
from service.documents.segments import (
    FileOptions,
    Place,
    TextFile,
    decode_unicode,
    invalid,
)

_SPACE = regex.compile(r"[ \t\n\r]*+")
_CHARACTER = regex.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", regex.DOTALL)
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_decode = json.JSONDecoder().raw_decode


class _Value(NamedTuple):
    """A value of a list or object, and where it stands."""

    key: str
    value: Any
    span: Span


def parse_notebook(content: bytes, options: FileOptions) -> TextFile:
    """Raises InvalidDocument."""
    decoded = decode_unicode(content)
    try:
        root = json.loads(decoded.text)
    except json.JSONDecodeError as error:
        raise invalid("JSON", f"line {error.lineno}") from None
    if not isinstance(root, dict) or not isinstance(root.get("cells"), list):
        raise invalid("nbformat 4", "it has no list of cells")
    return TextFile(decoded, _places(decoded.text))


def _places(text: str) -> Iterator[Place]:
    start = _after_space(text, 0)
    *_, cells = (value for value in _values(text, start) if value.key == "cells")
    for cell in _values(text, cells.span.start):
        if isinstance(cell.value, dict) and cell.value.get("cell_type") == "markdown":
            for member in _values(text, cell.span.start):
                if member.key == "source" and isinstance(member.value, str | list):
                    yield from _cell_places(text, member)


def _cell_places(text: str, source: _Value) -> Iterator[Place]:
    """The places of a cell's paragraphs. Its source is a string, or a list of lines."""
    lines = [source] if isinstance(source.value, str) else [*_values(text, source.span.start)]
    if not all(isinstance(line.value, str) for line in lines):
        return
    between = text[lines[0].span.end : lines[1].span.start] if len(lines) > 1 else None
    spelling = functools.partial(_spelled, between, text.isascii() and "\\u" in text)
    read = "".join(line.value for line in lines)
    spans = [
        Span(*match.span())
        for line in lines
        for match in _CHARACTER.finditer(text, line.span.start + 1, line.span.end - 1)
    ]
    if not _SURROGATE.search(read):
        for place in markdown.places(read):
            start, end = spans[place.start].start, spans[place.end - 1].end
            yield place._replace(start=start, end=end, write=_composed(spelling, place.write))


def _composed(spelling: Callable[[str], str], write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda translation: spelling(write(translation))


def _spelled(between: str | None, is_ascii: bool, written: str) -> str:
    """Markdown within a string of JSON; each line in a string of its own if there is something
    `between` them."""
    lines = [json.dumps(line, ensure_ascii=is_ascii)[1:-1] for line in written.split("\n")]
    return ("\\n" if between is None else f'\\n"{between}"').join(lines)


def _values(text: str, start: int) -> Iterator[_Value]:
    """The values of the list or object that begins there."""
    at = _after_space(text, start + 1)
    while text[at] not in "]}":
        key = ""
        if text[start] == "{":
            key, at = _decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        value, end = _decode(text, at)
        yield _Value(key, value, Span(at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start
