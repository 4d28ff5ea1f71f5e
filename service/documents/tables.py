"""CSV, TSV and XLSX: cells with words are translated; quotes, and what separates cells, stay.

Python's reader of CSV tells no offsets, and its writer quotes all cells alike.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator

import regex

from service.documents.archive import Archive, ArchiveFile, texts_of
from service.documents.runs import (
    DRAWING,
    RunNames,
    drawing_places,
    run_places,
)
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
from service.documents.xml_text import InlineContent, XmlText, read_xml

_DELIMITERS = ",;\t|"
_FIRST_LINE = regex.compile(r'(?:"[^"]*+"|[^\n\r"])*+')
_QUOTED = regex.compile(r'"[^"]*+"')
_FORMULA = "="
_SHEET_MEMBER = regex.compile(
    r"xl/(?:sharedStrings|comments\d*+|comments/comment\d++|drawings/drawing\d++|charts/chart\d++)\.xml"
)
_SHEET = regex.compile(r"xl/worksheets/sheet\d++\.xml")
_NAMES_MEMBER = regex.compile(r"xl/(?:tables/table|pivotCache/pivotCacheDefinition)\d++\.xml")
_CELLS = frozenset({"si", "is", "text", "x:si", "x:is", "x:text"})
_COLUMNS = frozenset({"tablecolumn", "cachefield", "x:tablecolumn", "x:cachefield"})


def parse_csv(content: bytes, options: FileOptions) -> TextFile:
    """The delimiter is what the first line has most of."""
    decoded = decode(content, options.source)
    first = _FIRST_LINE.match(decoded.text)
    shown = _QUOTED.sub("", first.group()) if first else ""
    return _parse(decoded, max(_DELIMITERS, key=shown.count))


def parse_tsv(content: bytes, options: FileOptions) -> TextFile:
    """Cells are between tabs."""
    return _parse(decode(content, options.source), "\t")


def _parse(decoded: DecodedText, delimiter: str) -> TextFile:
    spell = functools.partial(_spelled, delimiter)
    places = []
    for start, end in _cells(decoded.text, delimiter):
        written = decoded.text[start:end]
        is_quoted = written.startswith('"')
        value = written[1:-1].replace('""', '"') if is_quoted else written
        if is_worded(value) and not value.startswith(_FORMULA):
            places.append(Place(start, end, Segment(value), functools.partial(spell, is_quoted)))
    return TextFile(decoded, places)


def _cells(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Where cells stand, with their quotes."""
    mark = regex.escape(delimiter)
    cell = regex.compile(
        rf'(?:"(?:[^"]++|"")*+"|(?!")[^{mark}\n\r]*+)(?=(?P<end>{mark}|\r\n|\n|\r|\Z))'
    )
    position = 0
    while position < len(text):
        found = cell.match(text, position)
        if found is None:
            line = text.count("\n", 0, position) + 1
            raise invalid("CSV", f"a quoted cell of line {line} does not end")
        yield found.span()
        position = found.end("end")


def _spelled(delimiter: str, is_quoted: bool, value: str) -> str:
    """A cell with this value."""
    if is_quoted or value.startswith('"') or any(mark in value for mark in (delimiter, "\n", "\r")):
        return '"' + value.replace('"', '""') + '"'
    return value


def parse_workbook(content: bytes, options: FileOptions) -> ArchiveFile:
    """XLSX: the texts of cells, comments, drawings and charts. Formulas, numbers, dates and the
    names of sheets stay, and the titles of tables' columns, which formulas may name."""
    archive = Archive(content, "an XLSX", "xl/workbook.xml")
    members = [name for name in archive.names if _SHEET_MEMBER.fullmatch(name)]
    sheets = filter(_SHEET.fullmatch, archive.names)
    members += [name for name in sheets if archive.has_inside(name, b'"inlineStr"')]
    tables = (
        read_xml(archive.read(name)) for name in filter(_NAMES_MEMBER.fullmatch, archive.names)
    )
    kept = {xml.attribute(index, "name") for xml in tables for index in xml.starts(_COLUMNS)}
    texts = texts_of(archive, members, functools.partial(_workbook_places, kept))
    return ArchiveFile(archive, texts)


def _workbook_places(kept: Collection[str | None], xml: XmlText) -> Iterator[Place]:
    yield from drawing_places(DRAWING, xml, kept)
    for index in xml.starts(_CELLS):
        prefix = "x:" if xml.tokens[index].name.startswith("x:") else ""
        inner = [
            i for i in xml.children(index) if xml.tokens[i].name in (f"{prefix}r", f"{prefix}t")
        ]
        names = RunNames(f"{prefix}r", f"{prefix}t", DRAWING.unseen)
        if len(inner) == 1 and xml.tokens[inner[0]].name == names.text:
            if xml.text(inner[0]) not in kept:
                yield from InlineContent(xml).places(inner[0], keeps_lines=True)
        elif inner:
            yield from run_places(xml, inner, names)
