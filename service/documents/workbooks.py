"""XLSX: the texts of cells, comments, drawings, charts, prompts, and headers and footers."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterator

import regex

from service.documents.archive import ArchiveFile, no_places, texts_of
from service.documents.inline import InlineText, escape_markup
from service.documents.labels import LabelledText, labels
from service.documents.locales import locale_of
from service.documents.lookups import CELLS_END, Lookups, excel_lookups
from service.documents.packages import DRAWINGS, LABELLED, Package
from service.documents.runs import DRAWING, RunNames, drawing_places, run_places
from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode_unicode,
)
from service.documents.xml_text import InlineContent, XmlText, add_lines
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import CodedText

_MAIN = r"(?:spreadsheetml|ms-excel)\.[\w.]*main"
_TEXTS = rf"spreadsheetml\.(?:sharedStrings|comments)|ms-excel\.threadedcomments|drawing|{DRAWINGS}"
_SHEETS = r"spreadsheetml\.(?:worksheet|chartsheet)"
_NAMES = r"spreadsheetml\.(?:table|pivotCacheDefinition)"
_CACHES = r"spreadsheetml\.pivotCacheDefinition"
_CELLS = frozenset({"si", "is", "x:si", "x:is"})
_COMMENTS = frozenset({"text", "x:text"})
_SHEET_LABELS = labels(
    r"(?:\w+:)?(?:dataValidation|hyperlink)",
    "promptTitle|prompt|errorTitle|error|tooltip",
    {"promptTitle": 32, "prompt": 255, "errorTitle": 32, "error": 225, "tooltip": 255},
)
_HEADER = regex.compile(
    r"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)(?:\s[^<>]*+)?>(?P<text>[^<]++)</"
)
_MOST_OF_HEADER = 255
_HEADER_CODE = regex.compile(
    r"(?P<word>&amp;[PNDTAFZ](?:[+-]\d++)?)|(?P<char>&amp;&amp;)"
    r'|(?P<stop>[\r\n]++|&amp;(?:"[^"]*+"|&quot;[^&]*+&quot;|\d++|K[\da-fA-F+-]{6}|[A-Z]))'
)
_RESULT = regex.compile(
    r'\st="str"[^<>]*+>\s*+<(?:\w+:)?f\b[^<>]*+>(?:[^<]*+</(?:\w+:)?f>)?\s*+'
    r"(?P<result><(?:\w+:)?v\b[^<>]*+>[^<]*+</(?:\w+:)?v>)"
)
_VALUE = regex.compile(
    r'\st="str"[^<>]*+>\s*+<(?:\w+:)?v(?:\s[^<>]*+)?>(?P<text>[^<]++)</(?:\w+:)?v>'
)
"""A text that its cell has itself, as SheetJS writes all."""
_CALCULATION, _BEFORE_CALCULATION, _CACHE, _SOURCE, _MENTIONS, _READING = (
    frozenset(prefix + name for prefix in ("", "x:") for name in names)
    for names in (
        ["calcpr"],
        ["sheets", "functiongroups", "externalreferences", "definednames"],
        ["pivotcachedefinition"],
        ["worksheetsource"],
        ["mentions"],
        ["rph"],
    )
)


def parse_workbook(content: bytes, options: FileOptions) -> ArchiveFile:
    """The texts of cells, comments, drawings, charts, prompts, headers and footers. Formulas,
    numbers, dates and the names of sheets stay, and what the workbook looks for. Results of
    formulas and pivot tables are made anew by the program that opens the file."""
    package = Package(content, "an XLSX", _MAIN)
    names = package.parts(f"{_SHEETS}|{_NAMES}|{_MAIN}")
    lookups = excel_lookups(decode_unicode(package.unpacked(name)).text for name in names)
    places, unfit = functools.partial(_places, lookups), functools.partial(_unfit, lookups)
    texts = {
        **texts_of(package, package.parts(_TEXTS), places, unfit, LABELLED),
        **{name: _sheet(package, name, lookups) for name in package.parts(_SHEETS)},
    }
    if lookups.has_formulas:
        texts |= texts_of(package, package.parts(_MAIN), no_places, _calculation)
    texts |= texts_of(package, package.parts(_CACHES), no_places, _refreshed)
    return ArchiveFile(package, {**texts, **package.properties(locale_of(options.target))})


def _sheet(package: Package, name: str, lookups: Lookups) -> TextFile:
    """A sheet. Few have texts with looks in their cells: most are long and not taken apart."""
    if package.has_inside(name, b'"inlineStr"'):
        xml = package.read_xml(name)
        decoded, cells = xml.decoded, [*_places(lookups, xml)]
    else:
        decoded, cells = decode_unicode(package.unpacked(name)), []
    values = (_value(lookups, match) for match in _VALUE.finditer(decoded.text))
    after_cells = max(0, decoded.text.rfind(CELLS_END))
    headers = filter(None, map(_header, _HEADER.finditer(decoded.text, after_cells)))
    results = _RESULT.finditer(decoded.text)
    edits = [Edit(*match.span("result"), "") for match in results if has_letters(match["result"])]
    shown = [*cells, *filter(None, values), *headers]
    return LabelledText(decoded, shown, edits, _SHEET_LABELS)


def _value(lookups: Lookups, match: regex.Match[str]) -> Place | None:
    """The place of a text with letters that is the value of a cell."""
    inline = InlineText(escape_markup)
    add_lines(inline, match["text"])
    if not inline.has_letters or lookups.keeps(match["text"]):
        return None
    return Place(*match.span("text"), Segment(inline.text), inline.write)


def _header(match: regex.Match[str]) -> Place | None:
    """The place of a header or footer with letters, whose codes begin with `&`."""
    inline = InlineText(lambda text: escape_markup(text.replace("&", "&&")))
    source, position = match["text"], 0
    for code in _HEADER_CODE.finditer(source):
        inline.add_markup(source[position : code.start()])
        if code["char"]:
            inline.char("&", code["char"])
        else:
            (inline.word if code["word"] else inline.stop)(code.group())
        position = code.end()
    inline.add_markup(source[position:])

    def write(translation: CodedText) -> str:
        written = inline.write(translation)
        return written if len(html.unescape(written)) <= _MOST_OF_HEADER else source

    return Place(*match.span("text"), Segment(inline.text), write) if inline.has_letters else None


def _calculation(xml: XmlText) -> Iterator[Edit]:
    """Let formulas be calculated when the file is opened."""
    if found := xml.starts(_CALCULATION):
        yield xml.with_attribute(found[0], "fullCalcOnLoad", "1")
    elif before := xml.starts(_BEFORE_CALCULATION):
        at = max(xml.tokens[xml.end_of(index) - 1].end for index in before)
        prefix = "x:" if xml.tokens[before[0]].name.startswith("x:") else ""
        yield Edit(at, at, f'<{prefix}calcPr fullCalcOnLoad="1"/>')


def _refreshed(xml: XmlText) -> Iterator[Edit]:
    """Let a pivot table of this workbook's cells be read anew when the file is opened."""
    sources = [index for index in xml.starts(_SOURCE) if xml.attribute(index, "r:id") is None]
    for index in xml.starts(_CACHE) if sources else []:
        yield xml.with_attribute(index, "refreshOnLoad", "1")


def _places(lookups: Lookups, xml: XmlText) -> Iterator[Place]:
    yield from drawing_places(DRAWING, xml, lookups.keeps)
    for index in sorted(xml.starts(_CELLS) + xml.starts(_COMMENTS)):
        names, inner, texts = _runs(xml, index)
        is_cell = xml.tokens[index].name in _CELLS
        if is_cell and lookups.keeps("".join(map(xml.text, texts))):
            continue
        if texts == inner and len(inner) < 2:
            yield from InlineContent(xml).places(*inner or [index], keeps_lines=True)
        else:
            yield from run_places(xml, inner, names)


def _runs(xml: XmlText, index: int) -> tuple[RunNames, list[int], list[int]]:
    """How the runs of a text are named, its runs or only text, and the elements with text."""
    prefix = "x:" if xml.tokens[index].name.startswith("x:") else ""
    names = RunNames(f"{prefix}r", f"{prefix}t", DRAWING.unseen)
    inner = [i for i in xml.children(index) if xml.tokens[i].name in (names.run, names.text)]
    return names, inner, [text for child in inner for text in _texts(xml, child, names)]


def _texts(xml: XmlText, index: int, names: RunNames) -> list[int]:
    """The elements with the text of a run, or of a cell without runs."""
    if xml.tokens[index].name == names.text:
        return [index]
    return [child for child in xml.children(index) if xml.tokens[child].name == names.text]


def _unfit(lookups: Lookups, xml: XmlText) -> Iterator[Edit]:
    """Comments without the places of names, and cells without how their texts are read: they name
    characters by their numbers."""
    yield from map(xml.removed, xml.starts(_MENTIONS))
    for cell in xml.starts(_CELLS) if xml.starts(_READING) else []:
        readings = [child for child in xml.children(cell) if xml.tokens[child].name in _READING]
        if readings and not lookups.keeps("".join(map(xml.text, _runs(xml, cell)[2]))):
            yield from map(xml.removed, readings)
