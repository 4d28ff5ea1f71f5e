"""Markdown: markdown-it finds blocks and marks, and only the text of paragraphs, headings and cells
is written anew. Code, formulas, front matter, link definitions and every mark of blocks stay.

A paragraph's translation stands in one line, because its line breaks fall at other words.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

import regex
from markdown_it.token import Token

from model.text.spans import Span
from service.documents.chunk_options import option_places
from service.documents.front_matter import (
    front_matter_end,
    front_matter_places,
    language_mark,
)
from service.documents.markdown_anchors import LinkedPage
from service.documents.markdown_extensions import ATTRIBUTES
from service.documents.markdown_parser import MarkdownParser
from service.documents.markdown_text import BlockKind, BlockText
from service.documents.pages import cuts
from service.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
)
from service.translation.markup.scanner import scan

_LINE = regex.compile(r"([^\n\r]*+)(?:\r\n|\n|\r|\Z)")
_HEAD = regex.compile(
    r"\[[ xX]\]\s++(?=\S)|\[!(?P<kind>[\w-]++)(?:[| ][^\[\]\n]*+)?\][+-]?+[ \t]*+\n?+"
)
"""The box of a task, or the kind of an alert, whose title may follow."""
_CAPTION = regex.compile(r"[Tt]able:[ \t]++(?=\S)")
_OF_TABLE = regex.compile(r"\s*+(?:\||\+[-=:]|-{3})|[^|\n]*+\|[^|\n]*+\|")
"""The word before Pandoc's caption of a table, and a line of a table."""
_TAIL = regex.compile(
    rf"(?<!\s)\s*+(?:(?<=[\s\w.,:;!?。，：；！？]){ATTRIBUTES}|\{{/\*[^*]*+\*/\}}|(?<=\s)\^[A-Za-z\d-]++)\s*+\Z"
)
"""Attributes, or the name of a block."""


def parse(content: bytes, options: FileOptions) -> TextFile:
    """CommonMark with tables and alerts as on GitHub, footnotes, formulas, definition lists, and
    what other dialects add. Raises InvalidDocument."""
    return _parsed(decode(content, options.source), options.target)


def parse_mdx(content: bytes, options: FileOptions) -> TextFile:
    """Markdown with imports, exports, tags of JSX and expressions. Raises InvalidDocument."""
    return _parsed(decode(content, options.source), options.target, is_mdx=True)


def _parsed(decoded: DecodedText, target: str, *, is_mdx: bool = False) -> TextFile:
    found = places(decoded.text, is_mdx=is_mdx)
    return LinkedPage(decoded, found, language_mark(decoded.text, target), is_mdx=is_mdx)


def places(text: str, *, is_mdx: bool = False) -> Iterator[Place]:
    """The places of a text's front matter, paragraphs, headings, cells and blocks of HTML. Raises
    InvalidDocument."""
    begin = front_matter_end(text)
    blocks = _Blocks(text, begin, MarkdownParser(is_mdx=is_mdx))
    return itertools.chain(front_matter_places(text), blocks.places())


class _Blocks:
    """The blocks of a text from `begin` on."""

    def __init__(self, source: str, begin: int, parser: MarkdownParser) -> None:
        self._source = source
        self._lines = [Span(*match.span(1)) for match in _LINE.finditer(source, begin)]
        self._cell_end = begin
        self._parser = parser
        try:
            self._tokens = self._parser.blocks(source[begin:])
        except (RecursionError, IndexError, ValueError) as error:
            raise invalid("Markdown", type(error).__name__) from None

    def places(self) -> Iterator[Place]:
        parent = Token("", "", 0)
        for token in self._tokens:
            if token.type == "inline" and parent.tag in ("td", "th"):
                yield from self._cell_place(token)
            elif token.type == "inline":
                is_heading = parent.type == "heading_open" and parent.markup.startswith("#")
                kind = token.meta.get("kind", "heading" if is_heading else "paragraph")
                yield from self._text_place(token, kind)
            elif token.type == "html_block":
                yield from self._page(token)
            elif token.type == "fence" and token.map and token.info.lstrip().startswith("{"):
                yield from option_places(self._source, self._lines[slice(*token.map)])
            parent = token

    def _place(self, text: str, lines: Sequence[Span], kind: BlockKind) -> Iterator[Place]:
        breaks = [self._source[a.end : b.start] for a, b in itertools.pairwise(lines)]
        locate = functools.partial(_located, text.split("\n"), lines)
        block = BlockText(text, self._parser, breaks, kind, locate)
        if block.inline.has_letters:
            segment = Segment(block.inline.text)
            yield Place(lines[0].start, lines[-1].end, segment, block.write)
        for note in block.notes:
            yield from self._place(text[slice(*note)], locate(note), "heading")

    def _page(self, token: Token) -> Iterator[Place]:
        """Of a block of HTML, unless its lines have marks of a quote."""
        first, _ = token.map or (0, 0)
        shown = token.content.rstrip("\n").split("\n")
        spans = self._lines[first : first + len(shown)]
        start, end = self._source.find(shown[0].strip(), *spans[0]), spans[-1].end
        written = [self._source[max(span.start, start) : span.end] for span in spans]
        is_whole = all(a.strip() == b.strip() for a, b in zip(shown, written, strict=True))
        if start >= 0 and is_whole:
            page = self._source[start:end]
            for cut in cuts(page, list(scan(page))):
                segment = Segment(page[slice(*cut)], "html")
                yield Place(start + cut[0], start + cut[1], segment)

    def _text_place(self, token: Token, kind: BlockKind) -> Iterator[Place]:
        """Of a paragraph, heading or title, and of the title of an alert before it."""
        first, _ = token.map or (0, 0)
        content, column = token.content, token.meta.get("column", 0)
        if head := _HEAD.match(content):
            content = content[head.end() :]
            first += head.group().count("\n")
            if head["kind"] and not head.group().endswith("\n"):
                title, _, content = content.partition("\n")
                yield from self._lines_place(title.rstrip(), first, kind)
                first += 1
        elif caption := self._caption(token):
            content = content[caption.end() :]
        yield from self._lines_place(content, first, kind, column)

    def _caption(self, token: Token) -> regex.Match[str] | None:
        """The word before the caption of the table that is before or after a paragraph."""
        first, last = token.map or (0, 0)
        found = _CAPTION.match(token.content)
        beside = range(first - 1, -1, -1), range(last, len(self._lines))
        return found if found and any(map(self._is_table, beside)) else None

    def _is_table(self, numbers: Iterable[int]) -> bool:
        """Whether a table comes first in these lines."""
        texts = (self._source[slice(*self._lines[number])] for number in numbers)
        block = itertools.takewhile(str.strip, itertools.dropwhile(lambda t: not t.strip(), texts))
        return any(map(_OF_TABLE.match, block))

    def _lines_place(
        self, content: str, first: int, kind: BlockKind, column: int = 0
    ) -> Iterator[Place]:
        """Of these lines without the attributes at their end, if it is certain where each stands:
        in the first one after the `column`, in the last one before the attributes."""
        tail = _TAIL.search(content)
        shown = (content[: tail.start()] if tail else content).split("\n")
        lines: list[Span] = []
        for number, text in enumerate(map(str.strip, shown), first):
            start, end = self._lines[number]
            if tail and number + 1 == first + len(shown):
                at = self._source.rfind(tail.group().strip(), start, end)
                end = at if at >= 0 else end
            find = self._source.find if column else self._source.rfind
            start = find(text, start + column * (not lines), end) if text else -1
            if start < 0:
                return
            lines.append(Span(start, start + len(text)))
        yield from self._place("\n".join(shown), lines, kind)

    def _cell_place(self, token: Token) -> Iterator[Place]:
        """Of a cell, after the cell before it. Its bars are escaped."""
        if not token.content or token.map is None:
            return
        line = self._lines[token.map[0]]
        written = token.content.replace("|", "\\|")
        start = self._source.find(written, max(self._cell_end, line.start), line.end)
        if start >= 0:
            self._cell_end = start + len(written)
            yield from self._place(token.content, [Span(start, self._cell_end)], "cell")


def _located(shown: Sequence[str], lines: Sequence[Span], part: Span) -> Sequence[Span]:
    """Where a part of the shown lines stands in the lines of the source, which have no spaces at
    their ends; nothing if they are spelled in another way."""
    found: list[Span] = []
    position = 0
    for text, line in zip(shown, lines, strict=True):
        begin = position + len(text) - len(text.lstrip())
        end = position + len(text.rstrip())
        if line.end - line.start != end - begin:
            return ()
        if max(begin, part.start) < min(end, part.end):
            offset = line.start - begin
            found.append(Span(max(begin, part.start) + offset, min(end, part.end) + offset))
        position += len(text) + 1
    return found
