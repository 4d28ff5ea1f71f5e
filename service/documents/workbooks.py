"""XLSX: the texts of cells, comments, drawings and charts."""

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
from service.documents.segments import FileOptions, Place
from service.documents.xml_text import InlineContent, XmlText, read_xml

_SHEET_MEMBER = regex.compile(
    r"xl/(?:sharedStrings|comments\d*+|comments/comment\d++|drawings/drawing\d++|charts/chart\d++)\.xml"
)
_SHEET = regex.compile(r"xl/worksheets/sheet\d++\.xml")
_NAMES_MEMBER = regex.compile(r"xl/(?:tables/table|pivotCache/pivotCacheDefinition)\d++\.xml")
_CELLS = frozenset({"si", "is", "text", "x:si", "x:is", "x:text"})
_COLUMNS = frozenset({"tablecolumn", "cachefield", "x:tablecolumn", "x:cachefield"})


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
