"""Markdown: markdown-it finds the blocks, and only the text of paragraphs, headings and cells is
written anew. Code, front matter, link definitions and every mark of blocks stay.

A paragraph's translation stands in one line, because its line breaks fall at other words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

from service.translation.documents.markdown_inline import MarkdownText
from service.translation.documents.segments import (
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
_TASK = regex.compile(r"\[[ xX]\]\s++(?=\S)")
_HTML_CHARACTERS = 20_000


class _Span(NamedTuple):
    """source[start:end]"""

    start: int
    end: int


def parse(content: bytes, options: FileOptions) -> TextFile:
    """CommonMark with tables, as on GitHub; other extensions are read as text.

    Raises InvalidDocument.
    """
    decoded = decode(content)
    front = _FRONT_MATTER.match(decoded.text)
    return TextFile(decoded, _Blocks(decoded.text, front.end() if front else 0).places())


class _Blocks:
    """The blocks of a text from `begin` on."""

    def __init__(self, source: str, begin: int) -> None:
        self._source = source
        self._lines = [_Span(*match.span(1)) for match in _LINE.finditer(source, begin)]
        self._cell_end = begin
        parser = MarkdownIt("commonmark").enable("table").disable("inline")
        environment: dict[str, Any] = {}
        try:
            self._tokens: Sequence[Token] = parser.parse(source[begin:], environment)
        except (RecursionError, IndexError, ValueError) as error:
            raise invalid("Markdown", type(error).__name__) from None
        self._labels: Collection[str] = environment.get("references", {})

    def places(self) -> Iterator[Place]:
        parent = ""
        for token in self._tokens:
            if token.type == "inline":
                lines = self._cell(token) if parent in ("td", "th") else self._text_lines(token)
                yield from self._place(lines)
            elif token.type == "html_block" and not token.level:
                yield from self._page(token)
            parent = token.tag

    def _place(self, lines: Sequence[_Span]) -> Iterator[Place]:
        if not lines:
            return
        text = MarkdownText(self._source, lines, self._labels)
        if text.inline.has_letters:
            segment = Segment(text.inline.text, "html")
            yield Place(lines[0].start, lines[-1].end, segment, text.write)

    def _page(self, token: Token) -> Iterator[Place]:
        first, last = token.map or (0, 0)
        start, end = self._lines[first].start, self._lines[last - 1].end
        if end - start <= _HTML_CHARACTERS:
            yield Place(start, end, Segment(self._source[start:end], "html"))

    def _text_lines(self, token: Token) -> list[_Span]:
        """Where each line of a paragraph or heading stands; none if that is not certain."""
        first, _ = token.map or (0, 0)
        found = []
        for number, content in enumerate(token.content.split("\n")):
            line = self._lines[first + number]
            content = content.strip()
            start = self._source.rfind(content, line.start, line.end) if content else -1
            if start < 0:
                return []
            task = None if number else _TASK.match(content)
            found.append(_Span(start + (task.end() if task else 0), start + len(content)))
        return found

    def _cell(self, token: Token) -> list[_Span]:
        """Where a cell's content stands: after the cell before it."""
        if not token.content or token.map is None:
            return []
        line = self._lines[token.map[0]]
        begin = max(self._cell_end, line.start)
        start = self._source.find(token.content, begin, line.end)
        if start < 0:
            return []
        self._cell_end = start + len(token.content)
        return [_Span(start, self._cell_end)]
