"""Markdown: markdown-it finds blocks and marks, and only the text of paragraphs, headings and cells
is written anew. Code, formulas, front matter, link definitions and every mark of blocks stay.

A paragraph's translation stands in one line, because its line breaks fall at other words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Literal, NamedTuple

import regex
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from service.documents.inline import InlineText, joint
from service.documents.segments import (
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
)
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind
from service.translation.markup.scanner import Token as Mark

_LINE = regex.compile(r"([^\n\r]*+)(?:\r\n|\n|\r|\Z)")
_FRONT_MATTER = regex.compile(
    r"(?:---[ \t]*+(?:\r\n|\n|\r)[\s\S]*?(?<=[\n\r])(?:---|\.\.\.)"
    r"|\+\+\+[ \t]*+(?:\r\n|\n|\r)[\s\S]*?(?<=[\n\r])\+\+\+)[ \t]*+(?=[\n\r]|\Z)"
)
_HEAD = regex.compile(r"\[[ xX]\]\s++(?=\S)|\[!\w++\][+-]?+[ \t]*+\n?+")
"""The box of a task, or the kind of an alert."""
_NOTE = regex.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]++[\w -]++|===[!+]?[ \t]++(?=\"))(?:\"(?P<title>[^\n]*)\")?[ \t]*+"
)
_INDENT = 4
_FOOTNOTE = regex.compile(r"\[\^[^\]\s]++\]")
_HTML_CHARACTERS = 20_000
_NAME = regex.compile(r"<(/?)([A-Za-z][\w-]*+)")
_NUMBERED = regex.compile(r"(\d{1,9})(?=[.)](?:\s|$))")
_MARKED = regex.compile(r"(?=[-+*](?:\s|$)|#{1,6}(?:\s|$)|[>=]|~~~|```|:::|!!!)")
_ESCAPED = regex.compile(r"\\([!-/:-@\[-`{-~])")
_WORDS = frozenset({"code_inline", "math_inline", "link_close"})


class _Span(NamedTuple):
    """source[start:end]"""

    start: int
    end: int


def parse(content: bytes, options: FileOptions) -> TextFile:
    """CommonMark with tables and alerts as on GitHub, footnotes, formulas, definition lists, and
    notes and tabs of MkDocs; other extensions are read as text. Raises InvalidDocument."""
    decoded = decode(content, options.source)
    front = _FRONT_MATTER.match(decoded.text)
    return TextFile(decoded, _Blocks(decoded.text, front.end() if front else 0).places())


class _Blocks:
    """The blocks of a text from `begin` on."""

    def __init__(self, source: str, begin: int) -> None:
        self._source = source
        self._lines = [_Span(*match.span(1)) for match in _LINE.finditer(source, begin)]
        self._cell_end = begin
        self._parser = _parser()
        self._environment: dict[str, Any] = {}
        try:
            self._tokens = self._parser.parse(source[begin:], self._environment)
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
        marks: list[Token] = []
        self._parser.inline.parse(text, self._parser, self._environment, marks)
        breaks = [self._source[a.end : b.start] for a, b in itertools.pairwise(lines)]
        block = _BlockText(text, marks, breaks, is_cell=is_cell)
        if block.inline.has_letters:
            segment = Segment(block.inline.text)
            yield Place(lines[0].start, lines[-1].end, segment, block.write)

    def _page(self, token: Token) -> Iterator[Place]:
        first, last = token.map or (0, 0)
        start, end = self._lines[first].start, self._lines[last - 1].end
        if end - start <= _HTML_CHARACTERS:
            yield Place(start, end, Segment(self._source[start:end], "html"))

    def _text_place(self, token: Token) -> Iterator[Place]:
        """Of a paragraph or heading, if it is certain where each of its lines stands."""
        first, _ = token.map or (0, 0)
        content = token.content
        if head := _HEAD.match(content):
            content = content[head.end() :]
            first += head.group().count("\n")
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


class _BlockText:
    """The marks of one block as codes, and the way back to Markdown."""

    def __init__(
        self, text: str, tokens: Sequence[Token], breaks: Sequence[str], *, is_cell: bool
    ) -> None:
        """`breaks`: what the source has between its lines."""
        self.inline, self._text, self._is_cell = InlineText(), text, is_cell
        self._breaks, self._line = breaks, 0
        marks = sorted(_marks(tokens), key=lambda mark: mark.start)
        self._partners = pair_tags(marks)
        position = 0
        for number, mark in enumerate(marks):
            before = text[position : mark.start]
            self.inline.add(before.rstrip(" ") if text[mark.start] == "\n" else before)
            self._add(marks, number)
            self._line += text.count("\n", mark.start, mark.end)
            position = mark.end
        self.inline.add(text[position:])

    def write(self, translation: CodedText) -> str:
        """The translation as Markdown. Its beginning is not a mark of a block."""
        written = self.inline.write(translation)
        if self._is_cell:
            return written.replace("|", "\\|")
        written = _NUMBERED.sub(r"\1\\", written) if _NUMBERED.match(written) else written
        return "\\" + written if _MARKED.match(written) else written

    def _add(self, marks: Sequence[Mark], number: int) -> None:
        mark, partner = marks[number], self._partners.get(number)
        written = self._text[mark.start : mark.end].replace("\n", " ")
        if partner is not None and partner > number:
            self.inline.open(written, self._closing(mark, marks[partner]))
        elif partner is not None:
            self.inline.close()
        elif mark.name in _WORDS:
            self.inline.word(written)
        elif mark.name == "text_special" and (escape := _ESCAPED.fullmatch(written)):
            self.inline.char(escape[1], written)
        elif mark.name == "text_special":
            self.inline.add_markup(written)
        elif mark.name == "softbreak":
            before = self._text[: mark.start].rstrip(" ")
            self.inline.add(joint(before[-1:], self._text[mark.end : mark.end + 1]))
        elif mark.name == "hardbreak":
            self.inline.stop(written.strip() + self._breaks[self._line])
        elif mark.name == "br":
            self.inline.stop(written)
        else:
            self.inline.single(written)

    def _closing(self, opening: Mark, closing: Mark) -> str:
        """How a pair ends. A link by its own text needs a label, for its text is translated."""
        written = self._text[closing.start : closing.end].replace("\n", " ")
        if written in ("]", "][]"):
            label = self._text[opening.end : closing.start]
            return f"][{' '.join(label.split())}]"
        return written


def _marks(tokens: Sequence[Token]) -> Iterator[Mark]:
    """Where marks stand. Names are those of HTML's elements and of markdown-it's tokens."""
    for token in tokens:
        if "at" not in token.meta or token.type == "text":
            continue
        start = token.meta["at"]
        end = token.meta.get("end", start)
        if token.type == "html_inline":
            name = _NAME.match(token.content)
            kind = Kind.OTHER if name is None else Kind.END if name[1] else Kind.START
            is_empty = token.content.endswith("/>")
            yield Mark(kind, start, end, name[2].lower() if name else "", is_empty)
        elif token.markup == "autolink":
            if token.nesting < 0:
                yield Mark(Kind.OTHER, start, end, token.type)
        elif token.type == "link_open":
            yield Mark(Kind.START, start - 1, start, "[]")
        elif token.type == "link_close":
            yield Mark(Kind.END, start, end, "[]")
        elif token.nesting:
            begin = start - (token.type == "strong_open")
            kind = Kind.START if token.nesting > 0 else Kind.END
            yield Mark(kind, begin, begin + len(token.markup), f"{token.tag} of Markdown")
        else:
            yield Mark(Kind.OTHER, start, end, token.type)


class _LocatedState(StateInline):
    """Notes where tokens begin."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta["at"] = self.pos
        return token


class _LocatingParser(ParserInline):
    """Notes where tokens end, too."""

    def parse(
        self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]
    ) -> list[Token]:
        state = _LocatedState(src, md, env, tokens)
        self.tokenize(state)
        position = 0
        for token in tokens:  # the marks of emphasis, of which several begin at one place
            if "at" in token.meta and token.type == "text":
                token.meta["at"] = max(token.meta["at"], position)
                position = token.meta["at"] + len(token.content)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens

    def tokenize(self, state: StateInline) -> None:
        rules, end = self.ruler.getRules(""), state.posMax
        while state.pos < end:
            count = len(state.tokens)
            is_nested = state.level >= state.md.options["maxNesting"]
            if is_nested or not any(rule(state, False) for rule in rules):
                state.append_pending(state.src[state.pos])
                state.pos += 1
            elif len(state.tokens) > count:
                state.tokens[-1].meta["end"] = state.pos
        if state.pending:
            state.pushPending()


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.inline = _LocatingParser()
    parser.configure("commonmark").enable(["table", "strikethrough"]).disable("inline")
    parser.use(deflist_plugin).use(dollarmath_plugin, allow_space=False, allow_digits=False)
    parser.use(footnote_plugin, inline=False, move_to_end=False).disable("footnote_ref")
    parser.inline.ruler2.disable("fragments_join")
    parser.inline.ruler.before("link", "footnote", _footnote)
    parser.block.ruler.before("fence", "colons", _colons, {"alt": ["paragraph", "list"]})
    parser.block.ruler.before("fence", "note", _note)
    return parser


def _footnote(state: StateInline, silent: bool) -> bool:
    """The reference to a footnote."""
    found = _FOOTNOTE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("footnote", "", 0)
    state.pos = found.end()
    return True


def _colons(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """The line that begins or ends a container, such as `::: warning`."""
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith(":::", begin) or state.is_code_block(first):
        return False
    if not silent:
        state.push("colons", "", 0)
        state.line = first + 1
    return True


def _note(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A note or tab of MkDocs: a line with a title, and what is indented below it."""
    begin = state.bMarks[first] + state.tShift[first]
    found = _NOTE.fullmatch(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    if silent:
        return True
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= state.blkIndent + _INDENT):
        end += 1
    title = state.push("inline", "", 0)
    title.content, title.map, title.children = found["title"] or "", [first, end], []
    outer, state.blkIndent, state.lineMax = state.blkIndent, state.blkIndent + _INDENT, end
    state.md.block.tokenize(state, first + 1, end)
    state.blkIndent, state.lineMax, state.line = outer, last, end
    return True
