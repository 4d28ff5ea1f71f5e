"""AsciiDoc: the texts of paragraphs, titles, items, cells and notes are translated, each into one
line. Code, macros and styles that nobody knows, names, attributes, and all marks stay."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.documents.asciidoc_blocks import AdocBlocks
from service.documents.asciidoc_lines import ANCHOR, BEGIN, TERM, AdocBlock, AdocHeading
from service.documents.asciidoc_text import AdocText
from service.documents.segments import Edit, FileOptions, Place, Segment, TextFile, decode
from service.translation.markup.coded_text import CodedText

_LINK = regex.compile(r"<<#?(?P<name>[^<>,\n]++)(?=,|>>)|xref:#?(?P<name>[^\s\[\]#:,.]++)\[")
_NO_NAME = regex.compile(r"[\W_]++")
_NO_ID, _BETWEEN = regex.compile(r"[^\w .-]"), regex.compile(r"[ .-]++")
_IS_TEXT = regex.compile(r"[ \p{Lu}]")
_COLONS = regex.compile(r"(?:::|;;)(?=\s|\Z)")
_PARTED = {"::": ":&#58;", ";;": ";&#59;"}
_SHORTEST_RULE = 2
_NEEDS_QUOTES = regex.compile(r"[,=\"]")


class _Anchors(NamedTuple):
    """The anchor that a heading needs, by where it begins, and those of headings that links name by
    their text."""

    needed: Mapping[int, str]
    named: Mapping[str, str]


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Raises InvalidDocument."""
    decoded = decode(content, options.source)
    reader = _Reader(decoded.text)
    return TextFile(decoded, reader.places, reader.edits(options.target))


class _Reader:
    """Makes places of the texts of a file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._blocks = AdocBlocks(source, 0, len(source))
        blocks = list(self._blocks.read())
        self._anchors = _anchors(source, blocks)
        self.places = [place for block in blocks for place in self._places(block)]

    def edits(self, target: str) -> Iterator[Edit]:
        """The language of the document becomes the target."""
        if span := self._blocks.language:
            yield Edit(*span, target)

    def _places(self, block: AdocBlock) -> Iterator[Place]:
        span = Span(block.start, block.end)
        if block.kind == "label":
            yield self._label(span)
            return
        text = self._text(span, block.separator, has_lines=block.kind == "lines")
        yield from self._inside(text, block.separator)
        if not text.inline.has_letters:
            return
        place = Place(*span, Segment(text.inline.text), text.write)
        if heading := block.heading:
            anchor = self._anchors.needed.get(block.start, "")
            end = heading.rule.end if heading.rule else block.end
            write = functools.partial(_write_heading, heading, anchor, text)
            yield place._replace(start=heading.start, end=end, write=write)
        elif block.kind == "value":
            yield place
        else:
            yield place._replace(write=functools.partial(_write, text, block))

    def _text(self, span: Span, escaped: str, *, has_lines: bool = False) -> AdocText:
        return AdocText(
            self._source,
            span,
            is_compatible=self._blocks.is_compatible,
            has_lines=has_lines,
            escaped=escaped if escaped in ("|", "!", "]") else "",
            anchors=self._anchors.named,
            addresses=self._blocks.addresses,
        )

    def _inside(self, text: AdocText, escaped: str) -> Iterator[Place]:
        """The notes and labels in a text."""
        for note in text.notes:
            inside = self._text(note, "]")
            yield from self._inside(inside, escaped)
            if inside.inline.has_letters:
                yield Place(*note, Segment(inside.inline.text), inside.write)
        for label in text.labels:
            yield self._label(label)

    def _label(self, span: Span) -> Place:
        text = " ".join(self._source[slice(*span)].split())
        is_quoted = self._source[span.start - 1 : span.start] == '"'
        return Place(*span, Segment(text), functools.partial(_write_label, is_quoted))


def _anchors(source: str, blocks: Sequence[AdocBlock]) -> _Anchors:
    """Of the headings whose names links have, as AsciiDoc makes them of their texts."""
    names = {link["name"].strip() for link in _LINK.finditer(source)}
    known = {name for found in ANCHOR.finditer(source) if (name := found["name"])}
    headings: dict[str, AdocBlock] = {}
    counts: Counter[str] = Counter()
    for block in blocks:
        if block.heading:
            name = _normal(source[block.start : block.end])
            counts[name] += 1
            headings[f"{name}{counts[name] if counts[name] > 1 else ''}"] = block
    needed, named = dict[int, str](), dict[str, str]()
    for name in sorted(names - known, key=lambda name: bool(_IS_TEXT.search(name))):
        found = headings.get(_normal(name))
        if found is None or found.heading is None:
            continue
        title, anchor = source[found.start : found.end], found.heading.anchor
        new = anchor or needed.get(found.start, name)
        if _IS_TEXT.search(name):
            if name != title:
                continue
            new = named[name] = _made(title) if new == name else new
        if not anchor:
            needed.setdefault(found.start, new)
    return _Anchors(needed, named)


def _normal(name: str) -> str:
    return _NO_NAME.sub("", name).lower()


def _made(title: str) -> str:
    """The anchor of a heading without one."""
    return "_" + _BETWEEN.sub("_", _NO_ID.sub("", title.lower())).strip("_")


def _in_one_line(translation: str) -> str:
    return " ".join(translation.split())


def _write_label(is_quoted: bool, translation: str) -> str:
    text = _in_one_line(translation).replace("]", "&#93;")
    if is_quoted:
        return text.replace('"', '\\"')
    return '"' + text.replace('"', '\\"') + '"' if _NEEDS_QUOTES.search(text) else text


def _write(text: AdocText, block: AdocBlock, translation: CodedText) -> str:
    """A text that begins no other block."""
    written = "\n".join(map(_begun, text.write(translation).split("\n")))
    if block.separator == '"':
        return written.replace('"', '""')
    if block.separator == "," and ("," in written or '"' in written):
        return '"' + written.replace('"', '""') + '"'
    return block.before + written


def _begun(line: str) -> str:
    """A line that is read as a text."""
    if TERM.match(line):
        line = _COLONS.sub(lambda found: _PARTED[found[0]], line)
    return f"{{empty}}{line}" if BEGIN.match(line) else line


def _write_heading(
    heading: AdocHeading, anchor: str, text: AdocText, translation: CodedText
) -> str:
    """A heading with a line of its length, and the anchor that links have for it."""
    written = _in_one_line(text.write(translation))
    before = f"[[{anchor}]]{heading.end_of_line}" if anchor else ""
    if heading.rule is None:
        return f"{before}{heading.mark}{written}"
    sign = heading.sign * max(len(written), _SHORTEST_RULE)
    return f"{before}{written}{heading.end_of_line}{sign}"
