"""Terms as files of each format, as tools write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from service.stores.glossary_files import CSV, TBX, TMX, XLSX
from tests.service.documents.samples import package

Rows = Sequence[Sequence[str]]
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORKBOOK = f"""<workbook xmlns="{NAMESPACE}" xmlns:r="{RELATIONS}"><sheets>
<sheet name="Terms" sheetId="7" r:id="rId2"/><sheet name="Notes" sheetId="1" r:id="rId1"/>
</sheets></workbook>""".encode()
LINKS = b"""<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="worksheet" Target="/xl/worksheets/sheet2.xml"/></Relationships>"""
NOTES = b'<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData></worksheet>'


def workbook(sheet: bytes, strings: bytes = b"<sst/>") -> bytes:
    return package(
        {
            "xl/workbook.xml": WORKBOOK,
            "xl/_rels/workbook.xml.rels": LINKS,
            "xl/worksheets/sheet1.xml": NOTES,
            "xl/worksheets/sheet2.xml": sheet,
            "xl/sharedStrings.xml": strings,
        }
    )


def shared(rows: Rows) -> bytes:
    """As Excel writes them."""
    cells = [cell for row in rows for cell in row if cell]
    numbers = iter(range(len(cells)))
    written = "".join(
        f'<row r="{number}" spans="1:3">'
        + "".join(
            f'<c r="{"ABCDEFG"[place]}{number}" s="1"'
            + (f' t="s"><v>{next(numbers)}</v></c>' if cell else "/>")
            for place, cell in enumerate(row)
        )
        + "</row>"
        for number, row in enumerate(rows, 1)
    )
    texts = "".join(f'<si><t xml:space="preserve">{escape(cell)}</t></si>' for cell in cells)
    return workbook(sheet_of(written), f'<sst xmlns="{NAMESPACE}">{texts}</sst>'.encode())


def inline(rows: Rows) -> bytes:
    """As libraries write them."""
    cell = '<x:c t="inlineStr"><x:is><x:r><x:t>{}</x:t></x:r></x:is></x:c>'
    written = "".join(
        f"<x:row>{''.join(cell.format(escape(one)) for one in row)}</x:row>" for row in rows
    )
    return workbook(
        f'<x:worksheet xmlns:x="{NAMESPACE}"><x:sheetData>{written}</x:sheetData>'
        "</x:worksheet>".encode()
    )


def sheet_of(rows: str) -> bytes:
    return f'<worksheet xmlns="{NAMESPACE}"><sheetData>{rows}</sheetData></worksheet>'.encode()


def comma(rows: Rows) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


def tmx(rows: Rows) -> bytes:
    units = (
        "<tu>" + variant("tuv", "en", f"<seg>{escape(a)}</seg>")
        + variant("tuv", "de", f"<seg>{escape(b)}</seg>") + "</tu>"
        for a, b in rows
    )  # fmt: skip
    return f"<tmx><body>{''.join(units)}</body></tmx>".encode()


def variant(name: str, language: str, inner: str) -> str:
    return f'<{name} xml:lang="{language}">{inner}</{name}>'


def tbx_2(*concepts: dict[str, Sequence[tuple[str, str]]]) -> bytes:
    """TBX-Basic of concepts: by language, terms and their status."""
    note = '<termNote type="administrativeStatus">{}</termNote>'
    written = "".join(
        "<termEntry><descrip type='subjectField'>x</descrip>"
        + "".join(
            variant(
                "langSet",
                language,
                "".join(
                    f"<tig><term>{escape(text)}</term>{note.format(status) if status else ''}</tig>"
                    for text, status in found
                ),
            )
            for language, found in concept.items()
        )
        + "</termEntry>"
        for concept in concepts
    )
    head = '<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">'
    return f'{head}<martif type="TBX-Basic"><text><body>{written}</body></text></martif>'.encode()


def tbx_3(*concepts: dict[str, Sequence[tuple[str, str]]]) -> bytes:
    """The same in version 3 with elements as categories."""
    text = tbx_2(*concepts).decode().partition("<martif")[2]
    for old, new in (
        ("martif", "tbx"),
        ("termEntry", "conceptEntry"),
        ("langSet", "langSec"),
        ("<tig>", "<termSec>"),
        ("</tig>", "</termSec>"),
        ('termNote type="administrativeStatus"', "basic:administrativeStatus"),
        ("</termNote>", "</basic:administrativeStatus>"),
    ):
        text = text.replace(old, new)
    head = '<tbx style="dct" xmlns="urn:iso:std:iso:30042:ed-2" xmlns:basic="http://x"'
    return (head + text).encode()


def concepts(rows: Rows) -> list[dict[str, list[tuple[str, str]]]]:
    return [{"de": [(b, "")], "en": [(a, "")]} for a, b in rows]


WRITERS: dict[str, tuple[str, Callable[[Rows], bytes]]] = {
    "tmx": (TMX, tmx),
    "tbx 2": (TBX, lambda rows: tbx_2(*concepts(rows))),
    "tbx 3": (TBX, lambda rows: tbx_3(*concepts(rows))),
    "xlsx": (XLSX, shared),
    "xlsx of a library": (XLSX, inline),
    "xlsx with a heading": (
        XLSX,
        lambda rows: shared([["No.", "German", "English"], *(["1", b, a] for a, b in rows)]),
    ),
    "csv with a heading": (
        CSV,
        lambda rows: comma([["id", "DE", "en-US"], *(["1", b, a] for a, b in rows)]),
    ),
}
