"""The cells of AsciiDoc's tables.

Grammar: https://docs.asciidoctor.org/asciidoc/latest/tables/build-a-basic-table/
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from model.text.spans import Span

_COLUMNS = regex.compile(
    r"\bcols\s*+=\s*+(?:\"(?P<specs>[^\"]*+)\"|'(?P<specs>[^']*+)'|(?P<specs>[^\s,\]]++))"
)
_COLUMN = regex.compile(
    r"\s*+(?:(?P<count>\d{1,3})\*)?[<^>]?(?:\.[<^>]?)?(?:\d++%?|~)?(?P<style>[a-z])?\s*+"
)
_FORMAT = regex.compile(r"\bformat\s*+=\s*+[\"']?(?P<format>\w++)")
_SEPARATOR = regex.compile(r"\bseparator\s*+=\s*+[\"']?(?P<sign>\S)")
_SPEC = regex.compile(
    r"(?<=\s)(?:(?P<columns>\d{1,2})?(?:\.(?P<rows>\d{1,3}))?(?P<sign>[*+]))?"
    r"(?:[<^>](?:\.[<^>]?)?|\.[<^>])?(?P<style>[a-z])?\Z"
)
_LONGEST_SPEC = 16
_FIELD = regex.compile(
    r'[ \t]*+(?:"(?P<quoted>[^"]*+)"(?!")|(?P<bare>[^",\n]++))(?=[ \t]*+(?:,|\r?\n|\Z))'
)


class Cell(NamedTuple):
    """Where a cell stands, its style (see AsciiDoc), and the sign that it may not have."""

    start: int
    end: int
    style: str
    separator: str


class _Spec(NamedTuple):
    """What is before a cell: how many columns and rows it fills, or how often it is repeated."""

    start: int
    columns: int = 1
    rows: int = 1
    repeats: int = 1
    style: str = ""


def cells_of(source: str, span: Span, sign: str, attributes: str) -> Iterator[Cell]:
    """The cells between the lines of a table that begin with this sign."""
    named = _FORMAT.search(attributes)
    form = named["format"] if named else {",": "csv", ":": "dsv"}.get(sign, "psv")
    columns = _COLUMNS.search(attributes)
    styles = list(_styles(columns["specs"])) if columns else []
    separator = _SEPARATOR.search(attributes)
    if form == "psv":
        sign = separator["sign"] if separator else sign if sign in "|!" else "|"
        yield from _bars(source, span, sign, styles)
    elif form == "csv" and separator is None and not any(styles):
        yield from _fields(source, span)


def _styles(specs: str) -> Iterator[str]:
    """The style of each column."""
    for spec in regex.split("[,;]", specs):
        if found := _COLUMN.fullmatch(spec):
            yield from itertools.repeat(found["style"] or "", int(found["count"] or 1))
        else:
            yield ""


def _fields(source: str, span: Span) -> Iterator[Cell]:
    for found in _FIELD.finditer(source, *span):
        name = "quoted" if found["quoted"] is not None else "bare"
        yield Cell(*found.span(name), "", '"' if name == "quoted" else ",")


def _bars(source: str, span: Span, sign: str, styles: Sequence[str]) -> Iterator[Cell]:
    """Cells that begin with this sign, which has the place and style of a cell before it."""
    bars = list(_signs(source, span, sign))
    if not bars:
        return
    specs = [_spec(source, max(span.start, bar - _LONGEST_SPEC), bar) for bar in bars]
    ends = [*(spec.start for spec in specs[1:]), span.end]
    places = _column_styles(specs, styles)
    for bar, end, spec, style in zip(bars, ends, specs, places, strict=True):
        yield Cell(bar + 1, max(bar + 1, end), spec.style or style, sign)


def _signs(source: str, span: Span, sign: str) -> Iterator[int]:
    """Where this sign stands without a backslash."""
    position = source.find(sign, *span)
    while position >= 0:
        if source[position - 1 : position] != "\\":
            yield position
        position = source.find(sign, position + 1, span.end)


def _spec(source: str, start: int, end: int) -> _Spec:
    found = _SPEC.search(source, start, end)
    if found is None:
        return _Spec(end)
    begin, style = end - len(found.group()), found["style"] or ""
    columns, rows = int(found["columns"] or 1), int(found["rows"] or 1)
    if found["sign"] == "*":
        return _Spec(begin, repeats=max(columns, 1), style=style)
    return _Spec(begin, max(columns, 1), max(rows, 1), 1, style)


def _column_styles(specs: Sequence[_Spec], styles: Sequence[str]) -> Iterator[str]:
    """The style that each cell has from its column."""
    if not any(styles):
        yield from itertools.repeat("", len(specs))
        return
    filled, column = [0] * len(styles), 0
    for spec in specs:
        for number in range(spec.repeats):
            while filled[column]:
                filled[column] -= 1
                column = (column + 1) % len(styles)
            if not number:
                yield styles[column]
            for _ in range(spec.columns):
                filled[column] += spec.rows - 1
                column = (column + 1) % len(styles)
