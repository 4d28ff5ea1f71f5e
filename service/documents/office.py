"""DOCX and PPTX: the paragraphs of Office Open XML."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import regex

from service.documents.archive import ArchiveFile, properties_of, texts_of
from service.documents.locales import is_asian, locale_of
from service.documents.packages import DRAWINGS, Package
from service.documents.runs import (
    DRAWING,
    RunNames,
    RunPart,
    drawing_places,
    paragraph_places,
)
from service.documents.segments import Edit, FileOptions, Place
from service.documents.xml_text import XmlText

if TYPE_CHECKING:
    pass

_WORD_MAIN = r"(?:wordprocessingml|ms-word)\.[\w.]*main"
_WORD_TEXTS = rf"{_WORD_MAIN}|wordprocessingml\.(?:header|footer|footnotes|endnotes|comments)"
_WORD_STYLES = r"wordprocessingml\.styles"
_PROPERTIES = ("docProps/core.xml",)
_WORD_LANGUAGE = regex.compile(r"""(?<=<w:lang\s(?:[^<>]*\s)?w:val=")[^"]*+""")
_WORD_LANGUAGES = regex.compile(r"""(?<=<w:lang\s(?:[^<>]*\s)?w:(?:val|eastAsia)=")[^"]*+""")
_WORD_PARAGRAPH = frozenset({"w:p"})
_WRAPPERS = frozenset(
    {
        *("w:hyperlink", "w:ins", "w:moveto", "w:smarttag", "w:customxml"),
        *("w:fldsimple", "w:sdt", "w:dir", "w:bdo"),
    }
)
_HEADS = frozenset({"w:sdtpr", "w:sdtendpr", "w:smarttagpr", "w:customxmlpr", "w:sdtcontent"})
_UNSEEN = frozenset({"w:prooferr", "w:lastrenderedpagebreak", "w:softhyphen"})
_WORD_STOPS = frozenset({"w:tab", "w:br", "w:cr", "w:ptab"})
_FIELD = regex.compile(r'<w:fldChar\s[^<>]*?w:fldCharType="(begin|separate|end)"')
_SLIDE_MAIN = r"(?:presentationml|ms-powerpoint)\.[\w.]*main"
_SLIDES = rf"presentationml\.(?:slide|notesSlide)|{DRAWINGS}"
_DRAWING_LANGUAGE = regex.compile(r"""(?<=<a:rPr\s(?:[^<>]*\s)?lang=["'])[^"']*+""")


def parse_word(content: bytes, options: FileOptions) -> ArchiveFile:
    """DOCX: the text, headers, footers, notes, comments and text boxes; macros, embedded files and
    pictures stay."""
    package = Package(content, "a DOCX", _WORD_MAIN)
    language = _WORD_LANGUAGES if is_asian(options.target) else _WORD_LANGUAGE
    locale = locale_of(options.target)
    names = dataclasses.replace(_WORD, mark=functools.partial(language.sub, locale))
    places = functools.partial(_word_places, names)
    texts = texts_of(package, package.parts(_WORD_TEXTS), places)
    marks = functools.partial(_marked, language, locale)
    styles = texts_of(package, package.parts(_WORD_STYLES), _no_places, marks)
    drawings = functools.partial(drawing_places, _drawing(locale))
    drawn = texts_of(package, package.parts(DRAWINGS), drawings)
    return ArchiveFile(
        package, {**texts, **styles, **drawn, **properties_of(package, _PROPERTIES, locale)}
    )


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """PPTX: slides, their notes, diagrams and charts; masters, layouts and media stay."""
    package = Package(content, "a PPTX", _SLIDE_MAIN)
    locale = locale_of(options.target)
    slides = functools.partial(drawing_places, _drawing(locale))
    texts = texts_of(package, package.parts(_SLIDES), slides)
    return ArchiveFile(package, {**texts, **properties_of(package, _PROPERTIES, locale)})


def _drawing(locale: str) -> RunNames:
    return dataclasses.replace(DRAWING, mark=functools.partial(_DRAWING_LANGUAGE.sub, locale))


def _marked(language: regex.Pattern[str], locale: str, xml: XmlText) -> Iterator[Edit]:
    """The language of styles. Runs have their own."""
    return (Edit(*match.span(), locale) for match in language.finditer(xml.source))


def _no_places(_: XmlText) -> Iterator[Place]:
    return iter(())


_WORD = RunNames(
    "w:r",
    "w:t",
    regex.compile(r"<w:(?:lang(?:\s[^<>/]*+)?|noProof\s*+|rFonts w:hint=\"\w*+\"\s*+)/>"),
)


def _word_places(names: RunNames, xml: XmlText) -> Iterator[Place]:
    """What has paragraphs inside ends a text and stays."""
    for index in xml.starts(_WORD_PARAGRAPH):
        group: list[int] = []
        for child in xml.children(index):
            if xml.has_inside(child, _WORD_PARAGRAPH) or xml.tokens[child].name == "w:ppr":
                yield from paragraph_places(xml, group, _word_parts(xml, group), names)
                group = []
            else:
                group.append(child)
        yield from paragraph_places(xml, group, _word_parts(xml, group), names)


def _word_parts(xml: XmlText, elements: Sequence[int]) -> Iterator[RunPart]:
    """The parts of runs, links and the like, with fields as codes or as pairs around a result."""
    written = [xml.element(element) for element in elements]
    fields, alone = _find_fields(written)
    number = 0
    while number < len(elements):
        end, separator = fields.get(number, (number, None))
        if separator is not None:
            opening = "".join(written[number : separator + 1])
            yield RunPart("open", opening, closing=written[end])
            yield from _word_parts(xml, elements[separator + 1 : end])
            yield RunPart("close")
        elif number in fields:
            yield RunPart("single", "".join(written[number : end + 1]))
        elif number in alone:
            yield RunPart("stop", written[number])
        else:
            yield from _word_element(xml, elements[number])
        number = end + 1


def _find_fields(runs: Sequence[str]) -> tuple[dict[int, tuple[int, int | None]], set[int]]:
    """Complex fields, whose code and result stand in runs side by side: the run where each begins,
    with its last run and the run before its result, if any. Runs of fields that go on in another
    paragraph keep their places. Linear time."""
    fields: dict[int, tuple[int, int | None]] = {}
    alone: set[int] = set()
    opened: list[tuple[int, int | None]] = []
    for index, run in enumerate(runs):
        mark = _FIELD.search(run) if run.startswith("<w:r") else None
        if mark and mark[1] == "begin":
            opened.append((index, None))
        elif mark and not opened:
            alone.add(index)
        elif mark and mark[1] == "separate":
            opened[-1] = (opened[-1][0], index)
        elif mark:
            begin, separator = opened.pop()
            fields[begin] = index, separator
    alone.update(number for field in opened for number in field if number is not None)
    return fields, alone


def _word_element(xml: XmlText, index: int) -> Iterator[RunPart]:
    name = xml.tokens[index].name
    if name == "w:r":
        yield from _word_run(xml, index)
    elif name in _WRAPPERS:
        yield from _word_wrapper(xml, index)
    elif name not in _UNSEEN:
        yield RunPart("single", xml.element(index))


def _word_wrapper(xml: XmlText, index: int) -> Iterator[RunPart]:
    """A link or the like, with its head, around runs."""
    inner = [*xml.children(index)]
    first, last = index + 1, xml.end_of(index) - 1
    while inner and xml.tokens[inner[0]].name in _HEADS:
        head = inner[0]
        if xml.tokens[head].name == "w:sdtcontent":
            first, last = head + 1, xml.end_of(head) - 1
            inner = [*xml.children(head)]
            break
        first, inner = xml.end_of(head), inner[1:]
    yield RunPart("open", xml.written(index, first), closing=xml.written(last, xml.end_of(index)))
    yield from _word_parts(xml, inner)
    yield RunPart("close")


def _word_run(xml: XmlText, index: int) -> Iterator[RunPart]:
    properties = ""
    for child in xml.children(index):
        name = xml.tokens[child].name
        if name == "w:rpr":
            properties = xml.element(child)
        elif name == "w:t":
            yield RunPart("text", xml.text(child), properties)
        elif name == "w:nobreakhyphen":
            yield RunPart("text", "\u2011", properties)
        elif name not in _UNSEEN:
            code = f"<w:r>{properties}{xml.element(child)}</w:r>"
            yield RunPart("stop" if name in _WORD_STOPS else "single", code)
