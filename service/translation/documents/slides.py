"""PPTX: the paragraphs of slides, their notes, diagrams and charts."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.errors import InvalidDocument
from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.archive_xml import place_members
from service.translation.documents.runs import RunNames, RunParagraph, RunPart
from service.translation.documents.segments import FileOptions, Place, Segment
from service.translation.documents.xml_text import XmlText, text_of

_MEMBER = regex.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|diagrams/drawing|charts/chart)"
    r"\d++\.xml"
)
_NAMES = RunNames(
    "a:r",
    "a:t",
    regex.compile(r"""\s(?:lang|altLang|dirty|err|noProof|smtClean)=["'][\w-]*+["']"""),
)
_PARAGRAPH = frozenset({"a:p"})


def parse(content: bytes, options: FileOptions) -> ArchiveFile:
    """A presentation; masters, layouts and media stay."""
    archive = Archive(content)
    if "ppt/presentation.xml" not in archive.names:
        raise InvalidDocument("the file is not a PPTX file: it has no ppt/presentation.xml")
    return place_members(archive, filter(_MEMBER.fullmatch, archive.names), _places)


def _places(xml: XmlText) -> Iterator[Place]:
    """Paragraphs do not nest."""
    for index in xml.starts(_PARAGRAPH):
        heads = ("a:ppr", "a:endpararpr")
        inner = [child for child in xml.children(index) if xml.tokens[child].name not in heads]
        paragraph = RunParagraph((part for child in inner for part in _parts(xml, child)), _NAMES)
        if paragraph.text.has_letters:
            start, end = xml.tokens[inner[0]].start, xml.tokens[xml.end_of(inner[-1]) - 1].end
            yield Place(start, end, Segment(paragraph.text.text, "html"), paragraph.write)


def _parts(xml: XmlText, index: int) -> Iterator[RunPart]:
    name, written = xml.tokens[index].name, xml.written(index, xml.end_of(index))
    if name != "a:r":
        yield RunPart("stop" if name == "a:br" else "single", written)
        return
    properties = ""
    for child in xml.children(index):
        if xml.tokens[child].name == "a:rpr":
            properties = xml.written(child, xml.end_of(child))
        elif xml.tokens[child].name == "a:t":
            tokens = xml.tokens[child + 1 : xml.end_of(child) - 1]
            text = "".join(text_of(token, xml.source) or "" for token in tokens)
            yield RunPart("text", text, properties)
