"""DOCX and PPTX: the paragraphs of Office Open XML."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import regex

from service.documents.archive import Archive, ArchiveFile, properties_of, texts_of
from service.documents.locales import is_asian, locale_of
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

_WORD_MEMBER = regex.compile(
    r"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments)\.xml"
)
_WORD_STYLES = ("word/styles.xml",)
_WORD_DRAWING = regex.compile(r"word/(?:charts/chart|diagrams/data|diagrams/drawing)\d++\.xml")
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
_SLIDE_MEMBER = regex.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|diagrams/drawing|charts/chart)"
    r"\d++\.xml"
)
_DRAWING_LANGUAGE = regex.compile(r"""(?<=<a:rPr\s(?:[^<>]*\s)?lang=["'])[^"']*+""")


def parse_word(content: bytes, options: FileOptions) -> ArchiveFile:
    """DOCX: the text, headers, footers, notes, comments and text boxes; macros, embedded files and
    pictures stay."""
    archive = Archive(content, "a DOCX", "word/document.xml")
    language = _WORD_LANGUAGES if is_asian(options.target) else _WORD_LANGUAGE
    locale = locale_of(options.target)
    names = dataclasses.replace(_WORD, mark=functools.partial(language.sub, locale))
    members = filter(_WORD_MEMBER.fullmatch, archive.names)
    texts = texts_of(archive, members, functools.partial(_word_places, names))
    styles = texts_of(
        archive, _WORD_STYLES, _no_places, functools.partial(_marked, language, locale)
    )
    drawings = filter(_WORD_DRAWING.fullmatch, archive.names)
    drawn = texts_of(archive, drawings, functools.partial(drawing_places, _drawing(locale)))
    return ArchiveFile(
        archive, {**texts, **styles, **drawn, **properties_of(archive, _PROPERTIES, locale)}
    )


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """PPTX: slides, their notes, diagrams and charts; masters, layouts and media stay."""
    archive = Archive(content, "a PPTX", "ppt/presentation.xml")
    locale = locale_of(options.target)
    members = filter(_SLIDE_MEMBER.fullmatch, archive.names)
    texts = texts_of(archive, members, functools.partial(drawing_places, _drawing(locale)))
    return ArchiveFile(archive, {**texts, **properties_of(archive, _PROPERTIES, locale)})


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
