"""DOCX: the paragraphs of the text, headers, footers, notes, comments and text boxes."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.errors import InvalidDocument
from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.archive_xml import place_members
from service.translation.documents.inline_xml import NestedElements
from service.translation.documents.runs import RunNames, RunParagraph, RunPart
from service.translation.documents.segments import FileOptions, Place, Segment
from service.translation.documents.word_fields import find_fields
from service.translation.documents.xml_text import XmlText, text_of

_MEMBER = regex.compile(
    r"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments)\.xml"
)
_NAMES = RunNames(
    "w:r",
    "w:t",
    regex.compile(r"<w:(?:lang(?:\s[^<>/]*+)?|noProof\s*+|rFonts w:hint=\"\w*+\"\s*+)/>"),
)
_PARAGRAPH = frozenset({"w:p"})
_WRAPPERS = frozenset({"w:hyperlink", "w:ins", "w:smarttag", "w:fldsimple", "w:sdt", "w:dir"})
_HEADS = frozenset({"w:sdtpr", "w:sdtendpr", "w:smarttagpr", "w:sdtcontent"})
_UNSEEN = frozenset({"w:prooferr", "w:lastrenderedpagebreak", "w:softhyphen"})
_STOPS = frozenset({"w:tab", "w:br", "w:cr", "w:ptab"})


def parse(content: bytes, options: FileOptions) -> ArchiveFile:
    """A document of Word; macros, embedded files and pictures stay."""
    archive = Archive(content)
    if "word/document.xml" not in archive.names:
        raise InvalidDocument("the file is not a DOCX file: it has no word/document.xml")
    return place_members(archive, filter(_MEMBER.fullmatch, archive.names), _places)


def _places(xml: XmlText) -> Iterator[Place]:
    nested = NestedElements(xml, _PARAGRAPH)
    for index in nested.starts:
        yield from _Paragraph(xml, nested).places(index)


class _Paragraph:
    """Reads one paragraph after the other. What has paragraphs inside ends a text and stays."""

    def __init__(self, xml: XmlText, nested: NestedElements) -> None:
        self._xml, self._nested = xml, nested

    def places(self, paragraph: int) -> Iterator[Place]:
        children = list(self._xml.children(paragraph))
        while children:
            count = next((n for n, child in enumerate(children) if self._stays(child)), None)
            group = children[:count]
            if group:
                yield from self._place(group)
            children = [] if count is None else children[count + 1 :]

    def _stays(self, child: int) -> bool:
        is_nested = self._nested.are_inside(child, self._xml.end_of(child))
        return is_nested or self._xml.tokens[child].name == "w:ppr"

    def _place(self, children: list[int]) -> Iterator[Place]:
        paragraph = RunParagraph(self._parts(children), _NAMES)
        if paragraph.text.has_letters:
            tokens = self._xml.tokens
            start = tokens[children[0]].start
            end = tokens[self._xml.end_of(children[-1]) - 1].end
            yield Place(start, end, Segment(paragraph.text.text, "html"), paragraph.write)

    def _parts(self, children: list[int]) -> Iterator[RunPart]:
        written = [self._xml.written(child, self._xml.end_of(child)) for child in children]
        fields = find_fields(written)
        number = 0
        while number < len(children):
            if (field := fields.get(number)) is None:
                yield from self._element(children[number])
                number += 1
            elif field.separator is None:
                yield RunPart(field.kind, "".join(written[number : field.end + 1]))
                number = field.end + 1
            else:
                opening = "".join(written[number : field.separator + 1])
                yield RunPart("open", opening, closing=written[field.end])
                yield from self._parts(children[field.separator + 1 : field.end])
                yield RunPart("close")
                number = field.end + 1

    def _element(self, index: int) -> Iterator[RunPart]:
        name = self._xml.tokens[index].name
        if name == "w:r":
            yield from self._run(index)
        elif name in _WRAPPERS:
            yield from self._wrapper(index)
        elif name not in _UNSEEN:
            yield RunPart("single", self._xml.written(index, self._xml.end_of(index)))

    def _wrapper(self, index: int) -> Iterator[RunPart]:
        """A link or the like, with its head, around runs."""
        xml, inner = self._xml, [*self._xml.children(index)]
        first, last = index + 1, xml.end_of(index) - 1
        while inner and xml.tokens[inner[0]].name in _HEADS:
            head = inner[0]
            if xml.tokens[head].name == "w:sdtcontent":
                first, last = head + 1, xml.end_of(head) - 1
                inner = [*xml.children(head)]
                break
            first, inner = xml.end_of(head), inner[1:]
        closing = xml.written(last, xml.end_of(index))
        yield RunPart("open", xml.written(index, first), closing=closing)
        yield from self._parts(inner)
        yield RunPart("close")

    def _run(self, index: int) -> Iterator[RunPart]:
        xml, properties = self._xml, ""
        for child in xml.children(index):
            name, written = xml.tokens[child].name, xml.written(child, xml.end_of(child))
            if name == "w:rpr":
                properties = written
            elif name == "w:t":
                yield RunPart("text", self._text(child), properties)
            elif name == "w:nobreakhyphen":
                yield RunPart("text", "\u2011", properties)
            elif name not in _UNSEEN:
                code = f"<w:r>{properties}{written}</w:r>"
                yield RunPart("stop" if name in _STOPS else "single", code)

    def _text(self, index: int) -> str:
        tokens = self._xml.tokens[index + 1 : self._xml.end_of(index) - 1]
        return "".join(text_of(token, self._xml.source) or "" for token in tokens)
