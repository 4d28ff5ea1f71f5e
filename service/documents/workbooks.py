"""XLSX: the texts of cells, comments, drawings and charts."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator

from service.documents.archive import ArchiveFile, texts_of
from service.documents.packages import DRAWINGS, Package
from service.documents.runs import (
    DRAWING,
    RunNames,
    drawing_places,
    run_places,
)
from service.documents.segments import FileOptions, Place
from service.documents.xml_text import InlineContent, XmlText, read_xml

_MAIN = r"(?:spreadsheetml|ms-excel)\.[\w.]*main"
_TEXTS = rf"spreadsheetml\.(?:sharedStrings|comments)|drawing|{DRAWINGS}"
_SHEETS = r"spreadsheetml\.(?:worksheet|chartsheet)"
_NAMES = r"spreadsheetml\.(?:table|pivotCacheDefinition)"
_CELLS = frozenset({"si", "is", "text", "x:si", "x:is", "x:text"})
_COLUMNS = frozenset({"tablecolumn", "cachefield", "x:tablecolumn", "x:cachefield"})


def parse_workbook(content: bytes, options: FileOptions) -> ArchiveFile:
    """XLSX: the texts of cells, comments, drawings and charts. Formulas, numbers, dates and the
    names of sheets stay, and the titles of tables' columns, which formulas may name."""
    package = Package(content, "an XLSX", _MAIN)
    members = package.parts(_TEXTS)
    sheets = package.parts(_SHEETS)
    members += [name for name in sheets if package.has_inside(name, b'"inlineStr"')]
    tables = (read_xml(package.read(name)) for name in package.parts(_NAMES))
    kept = {xml.attribute(index, "name") for xml in tables for index in xml.starts(_COLUMNS)}
    texts = texts_of(package, members, functools.partial(_workbook_places, kept))
    return ArchiveFile(package, texts)


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
