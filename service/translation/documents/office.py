"""DOCX, PPTX and ODT: the paragraphs of archives of XML.

Word and PowerPoint cut sentences into runs at every change of spelling mark, language or editing
session. Here a run counts only if it looks otherwise than its neighbours: runs of one look are
merged, and looks become pairs of codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import regex

from service.translation.documents.archive import Archive, ArchiveFile, parse_members
from service.translation.documents.inline import InlineText
from service.translation.documents.segments import FileOptions, Place
from service.translation.documents.xml_text import InlineContent, Role, XmlText

_WORD_MEMBER = regex.compile(
    r"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments)\.xml"
)
_WORD_PARAGRAPH = frozenset({"w:p"})
_WRAPPERS = frozenset({"w:hyperlink", "w:ins", "w:smarttag", "w:fldsimple", "w:sdt", "w:dir"})
_HEADS = frozenset({"w:sdtpr", "w:sdtendpr", "w:smarttagpr", "w:sdtcontent"})
_UNSEEN = frozenset({"w:prooferr", "w:lastrenderedpagebreak", "w:softhyphen"})
_WORD_STOPS = frozenset({"w:tab", "w:br", "w:cr", "w:ptab"})
_FIELD = regex.compile(r'w:fldCharType="(begin|separate|end)"')
_SLIDE_MEMBER = regex.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|diagrams/drawing|charts/chart)"
    r"\d++\.xml"
)
_SLIDE_PARAGRAPH = frozenset({"a:p"})
_TEXT_MEMBERS = ("content.xml", "styles.xml")
_TEXT_PARAGRAPHS = frozenset({"text:p", "text:h"})
_TEXT_PAIRS = frozenset({"text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"})
_TEXT_STOPS = frozenset({"text:tab", "text:line-break"})
_EMPTY = regex.compile(r"<[\w:]++\s*+(?:/>|>\s*+</[\w:]++>)")


def parse_word(content: bytes, options: FileOptions) -> ArchiveFile:
    """DOCX: the text, headers, footers, notes, comments and text boxes; macros, embedded files and
    pictures stay."""
    archive = Archive(content, "a DOCX", "word/document.xml")
    return parse_members(archive, filter(_WORD_MEMBER.fullmatch, archive.names), _word_places)


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """PPTX: slides, their notes, diagrams and charts; masters, layouts and media stay."""
    archive = Archive(content, "a PPTX", "ppt/presentation.xml")
    return parse_members(archive, filter(_SLIDE_MEMBER.fullmatch, archive.names), _slide_places)


def parse_open_text(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODT: the document, and the headers and footers of its styles."""
    archive = Archive(content, "an ODT", "content.xml")
    members = [name for name in _TEXT_MEMBERS if name in archive.names]
    return parse_members(archive, members, _open_text_places)


def _open_text_places(xml: XmlText) -> Iterator[Place]:
    def role(index: int) -> Role:
        name = xml.tokens[index].name
        if name in _TEXT_STOPS:
            return "stop"
        return "pair" if name in _TEXT_PAIRS else "single"

    return InlineContent(xml, _TEXT_PARAGRAPHS, role).all_places()


@dataclass(frozen=True)
class _RunNames:
    """The names of a run and of its text as written; `unseen` matches what in a run's properties
    does not change its look."""

    run: str
    text: str
    unseen: regex.Pattern[str]


_WORD = _RunNames(
    "w:r",
    "w:t",
    regex.compile(r"<w:(?:lang(?:\s[^<>/]*+)?|noProof\s*+|rFonts w:hint=\"\w*+\"\s*+)/>"),
)
_SLIDE = _RunNames(
    "a:r",
    "a:t",
    regex.compile(r"""\s(?:lang|altLang|dirty|err|noProof|smtClean)=["'][\w-]*+["']"""),
)


class _Part(NamedTuple):
    """A part of a paragraph: the text of a run, a code, or a tag of a pair such as a link.

    `written`: the escaped text, or how the code or tag is written; `properties`: the text's, as
    written; `closing`: how the pair that `open` begins is ended.
    """

    kind: Literal["text", "single", "stop", "open", "close"]
    written: str = ""
    properties: str = ""
    closing: str = ""


class _Paragraph:
    """The parts of a paragraph as one text, and the way back to runs."""

    def __init__(self, parts: Iterable[_Part], names: _RunNames) -> None:
        parts = list(parts)
        self._names = names
        self._looks: dict[str, str] = {}
        sizes: Counter[str] = Counter()
        for part in parts:
            if part.kind == "text":
                sizes[self._look(part)] += len(part.written)
        self._base = sizes.most_common(1)[0][0] if sizes else ""
        self._current = self._base
        self._turns: dict[int, str] = {}
        self.inline = InlineText()
        for part in parts:
            self._add(part)
        self._turn_to(self._base)

    def write(self, translation: str) -> str:
        """The translation as runs."""
        written: list[str] = []
        properties = [self._looks.get(self._base, "")]
        for event in self.inline.events(translation):
            if event.kind == "text":
                written.append(self._run(event.written, properties[-1]))
            elif event.number not in self._turns:
                written.append(event.written)
            elif event.kind == "open":
                properties.append(self._turns[event.number])
            else:
                properties.pop()
        return "".join(written)

    def _look(self, part: _Part) -> str:
        """The properties that show; remembers how they are first written."""
        look = self._names.unseen.sub("", part.properties)
        look = "" if _EMPTY.fullmatch(look) else look
        self._looks.setdefault(look, part.properties)
        return look

    def _add(self, part: _Part) -> None:
        if part.kind != "single":
            self._turn_to(self._look(part) if part.kind == "text" else self._base)
        match part.kind:
            case "text":
                self.inline.add(part.written)
            case "open":
                self.inline.open(part.written, part.closing)
            case "close":
                self.inline.close()
            case "single":
                self.inline.single(part.written)
            case "stop":
                self.inline.stop(part.written)

    def _turn_to(self, look: str) -> None:
        """End the pair of the current look, and begin that of the next one."""
        if look == self._current:
            return
        if self._current != self._base:
            self.inline.close()
        self._current = look
        if look != self._base:
            self._turns[self.inline.open("", "")] = self._looks[look]

    def _run(self, text: str, properties: str) -> str:
        run, name = self._names.run, self._names.text
        space = ' xml:space="preserve"' if run == "w:r" and text != text.strip() else ""
        return f"<{run}>{properties}<{name}{space}>{text}</{name}></{run}>"


def _places(
    xml: XmlText, elements: Sequence[int], parts: Iterable[_Part], names: _RunNames
) -> Iterator[Place]:
    """The place of neighbouring elements that have these parts."""
    paragraph = _Paragraph(parts, names)
    if paragraph.inline.has_letters:
        last = xml.end_of(elements[-1])
        yield xml.place(elements[0], last, paragraph.inline, paragraph.write)


def _slide_places(xml: XmlText) -> Iterator[Place]:
    """Paragraphs do not nest."""
    for index in xml.starts(_SLIDE_PARAGRAPH):
        heads = ("a:ppr", "a:endpararpr")
        inner = [child for child in xml.children(index) if xml.tokens[child].name not in heads]
        yield from _places(xml, inner, (p for n in inner for p in _slide_parts(xml, n)), _SLIDE)


def _slide_parts(xml: XmlText, index: int) -> Iterator[_Part]:
    name = xml.tokens[index].name
    if name != "a:r":
        yield _Part("stop" if name == "a:br" else "single", xml.element(index))
        return
    properties = ""
    for child in xml.children(index):
        if xml.tokens[child].name == "a:rpr":
            properties = xml.element(child)
        elif xml.tokens[child].name == "a:t":
            yield _Part("text", xml.text(child), properties)


def _word_places(xml: XmlText) -> Iterator[Place]:
    """What has paragraphs inside ends a text and stays."""
    for index in xml.starts(_WORD_PARAGRAPH):
        group: list[int] = []
        for child in xml.children(index):
            if xml.has_inside(child, _WORD_PARAGRAPH) or xml.tokens[child].name == "w:ppr":
                yield from _places(xml, group, _word_parts(xml, group), _WORD)
                group = []
            else:
                group.append(child)
        yield from _places(xml, group, _word_parts(xml, group), _WORD)


def _word_parts(xml: XmlText, elements: Sequence[int]) -> Iterator[_Part]:
    """The parts of runs, links and the like, with fields as codes or as pairs around a result."""
    written = [xml.element(element) for element in elements]
    fields = _find_fields(written)
    number = 0
    while number < len(elements):
        if (field := fields.get(number)) is None:
            yield from _word_element(xml, elements[number])
            number += 1
            continue
        if field.separator is None:
            yield _Part(field.kind, "".join(written[number : field.end + 1]))
        else:
            opening = "".join(written[number : field.separator + 1])
            yield _Part("open", opening, closing=written[field.end])
            yield from _word_parts(xml, elements[field.separator + 1 : field.end])
            yield _Part("close")
        number = field.end + 1


def _word_element(xml: XmlText, index: int) -> Iterator[_Part]:
    name = xml.tokens[index].name
    if name == "w:r":
        yield from _word_run(xml, index)
    elif name in _WRAPPERS:
        yield from _word_wrapper(xml, index)
    elif name not in _UNSEEN:
        yield _Part("single", xml.element(index))


def _word_wrapper(xml: XmlText, index: int) -> Iterator[_Part]:
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
    yield _Part("open", xml.written(index, first), closing=xml.written(last, xml.end_of(index)))
    yield from _word_parts(xml, inner)
    yield _Part("close")


def _word_run(xml: XmlText, index: int) -> Iterator[_Part]:
    properties = ""
    for child in xml.children(index):
        name = xml.tokens[child].name
        if name == "w:rpr":
            properties = xml.element(child)
        elif name == "w:t":
            yield _Part("text", xml.text(child), properties)
        elif name == "w:nobreakhyphen":
            yield _Part("text", "\u2011", properties)
        elif name not in _UNSEEN:
            code = f"<w:r>{properties}{xml.element(child)}</w:r>"
            yield _Part("stop" if name in _WORD_STOPS else "single", code)


class _Field(NamedTuple):
    """A field's last run, and the run before its result; None without one. A field that goes on in
    another paragraph has only its first run, and keeps its place."""

    end: int
    separator: int | None = None
    kind: Literal["single", "stop"] = "single"


def _find_fields(runs: Sequence[str]) -> Mapping[int, _Field]:
    """The fields of runs as written, by the index of the run where they begin. Their code and their
    result stand in runs side by side. Those within another field's result are among them. Linear
    time."""
    fields: dict[int, _Field] = {}
    opened: list[tuple[int, int | None]] = []
    for index, run in enumerate(runs):
        if "<w:fldChar" not in run or not run.startswith("<w:r"):
            continue
        mark = _FIELD.search(run)
        if mark and mark[1] == "begin":
            opened.append((index, None))
        elif not opened or not mark:
            fields[index] = _Field(index, kind="stop")
        elif mark[1] == "separate":
            opened[-1] = (opened[-1][0], index)
        else:
            begin, separator = opened.pop()
            fields[begin] = _Field(index, separator)
    for begin, separator in opened:
        fields[begin] = _Field(begin, kind="stop")
        if separator is not None:
            fields[separator] = _Field(separator, kind="stop")
    return fields
