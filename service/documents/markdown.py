"""Markdown: markdown-it finds blocks and marks, and only the text of paragraphs, headings and cells
is written anew. Code, formulas, front matter, link definitions and every mark of blocks stay.

A paragraph's translation stands in one line, because its line breaks fall at other words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex
from markdown_it.token import Token

from service.documents.markdown_extensions import ATTRIBUTES
from service.documents.markdown_parser import MarkdownParser
from service.documents.markdown_text import BlockText
from service.documents.segments import (
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
)

_LINE = regex.compile(r"([^\n\r]*+)(?:\r\n|\n|\r|\Z)")
_FRONT_MATTER = regex.compile(
    r"(?:---[ \t]*+(?:\r\n|\n|\r)[\s\S]*?(?<=[\n\r])(?:---|\.\.\.)"
    r"|\+\+\+[ \t]*+(?:\r\n|\n|\r)[\s\S]*?(?<=[\n\r])\+\+\+)[ \t]*+(?=[\n\r]|\Z)"
)
_HEAD = regex.compile(
    r"\[[ xX]\]\s++(?=\S)|\[!(?P<kind>[\w-]++)(?:\|[^\]\n]*+)?\][+-]?+[ \t]*+\n?+"
)
"""The box of a task, or the kind of an alert, whose title may follow."""
_TAIL = regex.compile(
    rf"(?<!\s)\s*+(?:(?<=[\s\w.,:;!?。，：；！？]){ATTRIBUTES}|\{{/\*[^*]*+\*/\}}|(?<=\s)\^[A-Za-z\d-]++)\s*+\Z"
)
"""Attributes, or the name of a block."""
_HTML_CHARACTERS = 20_000


class _Span(NamedTuple):
    """source[start:end]"""

    start: int
    end: int


def parse(content: bytes, options: FileOptions) -> TextFile:
    """CommonMark with tables and alerts as on GitHub, footnotes, formulas, definition lists, and
    what other dialects add. Raises InvalidDocument."""
    decoded = decode(content, options.source)
    return TextFile(decoded, places(decoded.text))


def parse_mdx(content: bytes, options: FileOptions) -> TextFile:
    """Markdown with imports, exports, tags of JSX and expressions. Raises InvalidDocument."""
    decoded = decode(content, options.source)
    return TextFile(decoded, places(decoded.text, is_mdx=True))


def places(text: str, *, is_mdx: bool = False) -> Iterator[Place]:
    """The places of a text's paragraphs, headings, cells and blocks of HTML. Raises
    InvalidDocument."""
    front = _FRONT_MATTER.match(text)
    return _Blocks(text, front.end() if front else 0, MarkdownParser(is_mdx=is_mdx)).places()


class _Blocks:
    """The blocks of a text from `begin` on."""

    def __init__(self, source: str, begin: int, parser: MarkdownParser) -> None:
        self._source = source
        self._lines = [_Span(*match.span(1)) for match in _LINE.finditer(source, begin)]
        self._cell_end = begin
        self._parser = parser
        try:
            self._tokens = self._parser.blocks(source[begin:])
        except (RecursionError, IndexError, ValueError) as error:
            raise invalid("Markdown", type(error).__name__) from None

    def places(self) -> Iterator[Place]:
        parent = ""
        for token in self._tokens:
            if token.type == "inline" and parent in ("td", "th"):
                yield from self._cell_place(token)
            elif token.type == "inline":
                yield from self._text_place(token)
            elif token.type == "html_block" and not token.level:
                yield from self._page(token)
            parent = token.tag

    def _place(
        self, text: str, lines: Sequence[_Span], *, is_cell: bool = False
    ) -> Iterator[Place]:
        breaks = [self._source[a.end : b.start] for a, b in itertools.pairwise(lines)]
        block = BlockText(text, self._parser, breaks, is_cell=is_cell)
        if block.inline.has_letters:
            segment = Segment(block.inline.text)
            yield Place(lines[0].start, lines[-1].end, segment, block.write)

    def _page(self, token: Token) -> Iterator[Place]:
        first, last = token.map or (0, 0)
        start, end = self._lines[first].start, self._lines[last - 1].end
        if end - start <= _HTML_CHARACTERS:
            yield Place(start, end, Segment(self._source[start:end], "html"))

    def _text_place(self, token: Token) -> Iterator[Place]:
        """Of a paragraph or heading, and of the title of an alert before it."""
        first, _ = token.map or (0, 0)
        content = token.content
        if head := _HEAD.match(content):
            content = content[head.end() :]
            first += head.group().count("\n")
            if head["kind"] and not head.group().endswith("\n"):
                title, _, content = content.partition("\n")
                yield from self._lines_place(title, first)
                first += 1
        yield from self._lines_place(content, first)

    def _lines_place(self, content: str, first: int) -> Iterator[Place]:
        """Of these lines without the attributes at their end, if it is certain where each
        stands."""
        if tail := _TAIL.search(content):
            content = content[: tail.start()]
        lines = []
        for number, shown in enumerate(map(str.strip, content.split("\n")), first):
            line = self._lines[number]
            start = self._source.rfind(shown, line.start, line.end) if shown else -1
            if start < 0:
                return
            lines.append(_Span(start, start + len(shown)))
        yield from self._place(content, lines)

    def _cell_place(self, token: Token) -> Iterator[Place]:
        """Of a cell, after the cell before it. Its bars are escaped."""
        if not token.content or token.map is None:
            return
        line = self._lines[token.map[0]]
        written = token.content.replace("|", "\\|")
        start = self._source.find(written, max(self._cell_end, line.start), line.end)
        if start >= 0:
            self._cell_end = start + len(written)
            yield from self._place(token.content, [_Span(start, self._cell_end)], is_cell=True)
