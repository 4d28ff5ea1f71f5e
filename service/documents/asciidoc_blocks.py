"""The blocks of AsciiDoc with text, found as Asciidoctor finds them.

Blocks need no tree: a block in others is read as one alone, since only its own lines are written.
Grammar: https://docs.asciidoctor.org/asciidoc/latest/blocks/
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from model.text.spans import Span
from service.documents.asciidoc_lines import (
    ADMONITION,
    ANCHOR,
    ATTRIBUTES,
    BREAK,
    DELIMITER,
    DIRECTIVE,
    ENTRY,
    HEADING,
    ITEM,
    MACRO,
    RULE,
    TERM,
    TITLE,
    AdocBlock,
    AdocHeading,
    BlockKind,
    lines_of,
)
from service.documents.asciidoc_styles import CODE_STYLES, Metadata, is_text_style
from service.documents.asciidoc_tables import Cell, cells_of
from service.documents.asciidoc_text import LABEL
from service.documents.segments import is_worded

_SHOWN = regex.compile(
    r"""(?:page-|doc)?(?:title|description|subtitle|summary)|navtitle|toc-title|manname-title
    |[a-z]++-(?:caption|label|signifier)|(?:page-)?navtitle|preface-title""",
    regex.X,
)
"""Attributes of a document that a reader sees."""
_LANGUAGE = "lang"
_STYLE = regex.compile(r"\[(?P<style>[\w-]++)(?!\s*+=)")
_NO_ANCHOR = " "
"""For a title, to which no link goes."""
_COMPOUND = regex.compile(r"--$|[=*_]{4,}+$")
_LABELS = regex.compile(r"""[\[,\s](?:alt|title)\s*+=\s*+"(?P<text>(?:[^"\\]|\\.)++)\"""")
_ANCHORS = regex.compile(r"(?:\[\[\[?[^\[\]]++\]?\]\]\s*+|\(\(\([^()]++\)\)\)\s*+)++")
_MANUAL = re.compile(r".+\(\w++\)$")
_OPTION = regex.compile(r"[-/<$+]|\W*$")
_ADDRESS, _REFERENCE = regex.compile(r"\w++://"), regex.compile(r"\{(?P<name>[\w-]++)\}")
_MOST_OFF = 2
_HEADED = regex.compile(r"(?!\.)[^\p{L}\p{N}]*+[\p{L}\p{N}]")
_CODE = regex.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z\d]++)*+")
_PARTING = regex.compile(r"//(?!/)|(?:ifn?def|ifeval|endif|include)::.*\]$")
_QUOTATION = re.compile(r'"(?P<text>.+)"\s*\n-- .++', re.S)


@dataclass
class _Context:
    """What is open: the delimiter of a block, and whether a list is in it."""

    delimiter: str = ""
    is_list: bool = False


class AdocBlocks:
    """The blocks of a part of a text."""

    def __init__(self, source: str, start: int, end: int, separator: str = "") -> None:
        """`separator`: what ends the cell of a table that these blocks are in."""
        self._source, self._separator = source, separator
        self._lines = lines_of(source, start, end)
        self._number = 0
        self._metadata = Metadata()
        self._open = [_Context()]
        self._is_text = False
        """Whether an indented line is text, not code."""
        self._is_manual = self._is_purpose = False
        """Whether the file is a page of a manual, and names the purpose of a command next."""
        self.language: Span | None = None
        self.addresses: dict[str, bool] = {}
        """The attributes that are addresses, and whether brackets end them."""
        self.is_compatible = self.has_breaks = False
        self._end_of_line = "\r\n" if "\r\n" in source[start:end] else "\n"

    def read(self) -> Iterator[AdocBlock]:
        if not self._separator:
            yield from self._header()
        while self._number < len(self._lines):
            yield from self._block()

    def _line(self, number: int) -> str:
        return self._source[slice(*self._lines[number])] if number < len(self._lines) else ""

    def _header(self) -> Iterator[AdocBlock]:
        """The title, names, and attributes of a document."""
        while self._number < len(self._lines):
            line = self._line(self._number)
            if line.startswith("//") or ENTRY.match(line) or ATTRIBUTES.match(line) or not line:
                yield from self._block()
            else:
                break
        line = self._line(self._number)
        if line.startswith(("= ", "# ")):
            yield from self._heading_line(is_title=True)
        elif self._is_underlined("="):
            self.is_compatible = True
            yield from self._underlined(is_title=True)
        else:
            return
        self._is_manual = self._is_purpose = bool(_MANUAL.match(line))
        self._skip_names()

    def _skip_names(self) -> None:
        """The lines of the authors and of the revision."""
        for _ in range(2):
            line = self._line(self._number)
            if line and not (ENTRY.match(line) or line.startswith("//") or DIRECTIVE.match(line)):
                self._number += 1

    def _block(self) -> Iterator[AdocBlock]:
        """The block or line that comes next."""
        line, span = self._line(self._number), self._lines[self._number]
        if not line or DIRECTIVE.match(line):
            self._number += 1
        elif found := DELIMITER.match(line):
            if self._is_underlined():
                yield from self._underlined()
            else:
                yield from self._delimited(line, found)
        elif line.startswith("//"):
            self._number += 1
        elif line == "+":
            self._number += 1
            self._is_text = False
        elif ATTRIBUTES.match(line):
            yield from self._attributes(line, span)
        elif found := TITLE.match(line):
            self._number += 1
            yield AdocBlock(span.start + 1, span.end, separator=self._separator)
        elif found := ENTRY.match(line):
            yield from self._entry(found, span)
        elif self._metadata.style in CODE_STYLES:
            self._skip_paragraph()
        else:
            yield from self._text_block(line, span)

    def _text_block(self, line: str, span: Span) -> Iterator[AdocBlock]:
        if HEADING.match(line):
            yield from self._heading_line()
        elif BREAK.match(line):
            self._done()
        elif found := MACRO.match(line):
            yield from self._labels_of(found, span.start)
            self._done()
        elif found := ITEM.match(line):
            self._done(0)
            self._open[-1].is_list = True
            yield from self._paragraph(span.start + found.end())
        elif (found := TERM.match(line)) and not self._is_code_style():
            yield from self._term(found, span)
        elif line[0].isspace() and not self._is_text:
            self._skip_paragraph()
        elif self._is_underlined():
            yield from self._underlined()
        elif self._is_code_style() or line.startswith("> ") or self._is_synopsis():
            self._skip_paragraph()
        else:
            yield from self._plain(line, span)

    def _plain(self, line: str, span: Span) -> Iterator[AdocBlock]:
        if not self._is_text:
            self._open[-1].is_list &= self._number > 0 and bool(self._line(self._number - 1))
        begin = found.end() if (found := ADMONITION.match(line)) else 0
        if self._is_purpose:
            name, dash, _ = line.partition(" - ")
            begin, self._is_purpose = len(name + dash) if dash else begin, False
        yield from self._paragraph(span.start + begin)

    def _done(self, lines: int = 1) -> None:
        """Go behind a block."""
        self._number += lines
        self._metadata, self._is_text = Metadata(), False

    def _is_code_style(self) -> bool:
        """Whether the next paragraph is code or of a kind that nobody knows."""
        return not is_text_style(self._metadata.style)

    def _is_synopsis(self) -> bool:
        """Whether verse comes next that is the usage of a command."""
        return self._is_manual and self._metadata.style == "verse"

    def _delimited(self, line: str, found: regex.Match[str]) -> Iterator[AdocBlock]:
        is_compound = bool(_COMPOUND.match(line)) and not self._is_code(line)
        if is_compound and self._metadata.style != "verse":
            self._compound(line)
            return
        closing = found["fence"] or line
        first = self._number + 1
        end = first
        others = {context.delimiter for context in self._open} - {""}
        while (
            end < len(self._lines) and (text := self._line(end)) != closing and text not in others
        ):
            end += 1
        metadata = self._metadata
        self._done(end - first + 1 + (self._line(end) == closing))
        if found["table"]:
            yield from self._table(line[0], self._lines[first:end], metadata.written)
        elif metadata.style == "verse" and not self._is_manual:
            yield from self._paragraphs(self._lines[first:end], "lines")

    def _compound(self, line: str) -> None:
        """Open or close a block with others in it."""
        depths = [n for n, context in enumerate(self._open) if context.delimiter == line]
        if depths:
            del self._open[depths[0] :]
        else:
            self._open.append(_Context(line))
        self._done()

    def _is_code(self, line: str) -> bool:
        if self._metadata.style in CODE_STYLES:
            return True
        return line == "--" and self._is_code_style()

    def _attributes(self, line: str, span: Span) -> Iterator[AdocBlock]:
        style = _STYLE.match(line)
        if style:
            self._metadata.style = style["style"]
        self._metadata.written += line
        if anchor := ANCHOR.search(line):
            self._metadata.anchor = anchor["name"]
        self._number += 1
        yield from self._labels(_LABELS.finditer(line), span.start)

    def _labels_of(self, found: regex.Match[str], start: int) -> Iterator[AdocBlock]:
        """The texts in the brackets of a macro."""
        begin, text = start + found.start("text"), found["text"]
        if found["name"] == "image":
            yield from self._labels([LABEL.match(text)], begin)
        yield from self._labels(_LABELS.finditer(f"[{text}"), begin - 1)

    def _labels(
        self, matches: Iterable[regex.Match[str] | None], start: int
    ) -> Iterator[AdocBlock]:
        for found in matches:
            if found and is_worded(found["text"]):
                first, last = found.span("text")
                yield AdocBlock(start + first, start + last, "label")

    def _entry(self, found: regex.Match[str], span: Span) -> Iterator[AdocBlock]:
        name, value = found["name"], found["value"] or ""
        begin = span.start + found.start("value")
        if name == _LANGUAGE and _CODE.fullmatch(value):
            self.language = Span(begin, span.end)
        self.is_compatible |= name == "compat-mode"
        known = _REFERENCE.match(value)
        if _ADDRESS.match(value) or (known and known["name"] in self.addresses):
            self.addresses[name] = value.endswith("]")
        self.has_breaks |= name in ("hardbreaks", "hardbreaks-option")
        while self._line(self._number).endswith(" \\"):
            self._number += 1
            value = ""
        self._number += 1
        if _SHOWN.fullmatch(name) and is_worded(value) and not value.startswith((":", "pass:")):
            yield AdocBlock(begin, span.end, "value")

    def _heading_line(self, *, is_title: bool = False) -> Iterator[AdocBlock]:
        span = self._lines[self._number]
        found = HEADING.match(self._line(self._number))
        if found is None:
            self._done()
            return
        anchor = found["anchor"] or self._metadata.anchor or _NO_ANCHOR * is_title
        begin = span.start + found.start("text")
        mark = self._source[span.start : begin]
        heading = AdocHeading(span.start, mark, None, "", anchor, self._end_of_line)
        self._done()
        if not (is_title and _MANUAL.match(found["text"])):
            end = span.start + found.end("text")
            yield AdocBlock(begin, end, "text", heading, self._separator)

    def _is_underlined(self, signs: str = "=-~^+") -> bool:
        """Whether a heading with a line below comes next."""
        if len(self._open) > 1 or self._separator:
            return False
        text, rule = self._line(self._number), self._line(self._number + 1)
        is_rule = RULE.match(rule) and rule[0] in signs and abs(len(text) - len(rule)) < _MOST_OFF
        return bool(is_rule) and _HEADED.match(text) is not None

    def _underlined(self, *, is_title: bool = False) -> Iterator[AdocBlock]:
        line, rule = self._lines[self._number], self._lines[self._number + 1]
        anchor = self._metadata.anchor or _NO_ANCHOR * is_title
        sign = self._source[rule.start]
        heading = AdocHeading(line.start, "", rule, sign, anchor, self._end_of_line)
        self._done(2)
        if not (is_title and _MANUAL.match(self._source[slice(*line)])):
            yield AdocBlock(*line, "text", heading)

    def _term(self, found: regex.Match[str], span: Span) -> Iterator[AdocBlock]:
        """The term of a description, which may begin in its line."""
        self._open[-1].is_list = True
        term = Span(span.start + found.start("term"), span.start + found.end("term"))
        if is_worded(found["term"]) and not _OPTION.match(found["term"]):
            yield from self._text(term, "text")
        if found["text"]:
            yield from self._paragraph(span.start + found.start("text"))
        else:
            self._done()
            self._is_text = True

    def _skip_paragraph(self) -> None:
        """Go behind code without delimiters."""
        end = self._number + 1
        while (line := self._line(end)) and line != "+" and not DIRECTIVE.match(line):
            end += 1
        self._done(end - self._number)

    def _paragraph(self, start: int) -> Iterator[AdocBlock]:
        """The text from there on."""
        end = self._number + 1
        while not self._ends(self._line(end)):
            end += 1
        is_broken = bool(line := self._line(end)) and bool(_PARTING.match(line))
        metadata = self._metadata
        has_breaks = self.has_breaks or "%hardbreaks" in metadata.written
        self._done(end - self._number)
        self._is_text = is_broken
        is_verse = (
            metadata.style == "verse" or has_breaks or 'options="hardbreaks' in metadata.written
        )
        yield from self._text(
            Span(start, self._lines[end - 1].end), "lines" if is_verse else "text"
        )

    def _ends(self, line: str) -> bool:
        """Whether a line is no more of the paragraph before it."""
        if not line or line == "+" or _PARTING.match(line):
            return True
        if DELIMITER.match(line) or ATTRIBUTES.match(line):
            return True
        return self._open[-1].is_list and bool(ITEM.match(line) or TERM.match(line))

    def _text(self, span: Span, kind: BlockKind) -> Iterator[AdocBlock]:
        """A text without anchors before it, and what only ends its line or a quotation."""
        start, end = span
        anchors = _ANCHORS.match(self._source, start, end)
        start = anchors.end() if anchors else start
        quotation = _QUOTATION.fullmatch(self._source, start, end)
        if quotation:
            start, end = quotation.span("text")
        text = self._source[start:end]
        shown = text.rstrip()
        if shown.endswith("+") and shown[-2:-1].isspace():
            shown = shown[:-1].rstrip()
        end = start + len(shown)
        start += len(text) - len(text.lstrip())
        if start < end:
            yield AdocBlock(start, end, kind, separator=self._separator)

    def _paragraphs(self, lines: Sequence[Span], kind: BlockKind) -> Iterator[AdocBlock]:
        """Texts with empty lines between them, and nothing else."""
        for is_text, part in itertools.groupby(lines, self._is_shown):
            if is_text:
                group = list(part)
                yield from self._text(Span(group[0].start, group[-1].end), kind)

    def _is_shown(self, line: Span) -> bool:
        text = self._source[slice(*line)]
        return bool(text.strip()) and not _PARTING.match(text)

    def _table(self, sign: str, lines: Sequence[Span], attributes: str) -> Iterator[AdocBlock]:
        if not lines:
            return
        for cell in cells_of(self._source, Span(lines[0].start, lines[-1].end), sign, attributes):
            if cell.style == "a":
                found = AdocBlocks(self._source, cell.start, cell.end, cell.separator).read()
            elif cell.style not in ("l", "m"):
                kind: BlockKind = "lines" if cell.style == "v" else "text"
                found = self._paragraphs(lines_of(self._source, cell.start, cell.end), kind)
            else:
                continue
            for block in found:
                yield self._in_cell(block, cell, lines[0])

    def _in_cell(self, block: AdocBlock, cell: Cell, first: Span) -> AdocBlock:
        """A text in a cell. In the first line of a table one line alone would be a heading."""
        is_wrapped = block.start <= first.end < block.end and cell.separator in ("|", "!")
        before = self._end_of_line * (is_wrapped and block.kind == "text")
        return block._replace(separator=cell.separator, before=before)
