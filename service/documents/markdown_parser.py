"""The parser of Markdown: markdown-it with other extensions, and where its tokens begin and end."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Literal

import regex
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from service.documents.markdown_blocks import add_blocks
from service.documents.markdown_directives import add_directives
from service.documents.markdown_extensions import add_extensions
from service.documents.markdown_jsx import add_jsx
from service.documents.markdown_pandoc import add_tables
from service.translation.language.chinese import EAST_ASIAN
from service.translation.markup.elements import keeps_content, pair_tags
from service.translation.markup.scanner import Kind
from service.translation.markup.scanner import Token as Mark

_NAME = regex.compile(r"<(/?)([A-Za-z][\w-]*+)")


class MarkdownParser:
    """Parses one text, whose links have their definitions in it."""

    def __init__(self, *, is_mdx: bool = False) -> None:
        self._parser = _new_parser()
        if is_mdx:
            add_jsx(self._parser)
        self._environment: dict[str, Any] = {}

    def blocks(self, text: str) -> list[Token]:
        """The blocks of the text, with the texts of paragraphs unread."""
        return self._parser.parse(text, self._environment)

    def marks(self, text: str, *, is_strict: bool = False) -> list[Mark]:
        """The marks in a text of a block, in order. Emphasis beside Chinese and Japanese is also
        read where CommonMark `is_strict` and shows its marks."""
        tokens: list[Token] = []
        environment = {**self._environment, "is_strict": is_strict}
        self._parser.inline.parse(text, self._parser, environment, tokens)
        return _with_kept(text, sorted(_marks(tokens), key=lambda mark: mark.start))


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
            other = "comment" if token.content.startswith("<!--") else ""
            yield Mark(kind, start, end, name[2].lower() if name else other, is_empty)
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


def _with_kept(text: str, marks: list[Mark]) -> list[Mark]:
    """The marks with elements of HTML that are not translated, such as keys, as one mark each."""
    partners = pair_tags(marks)
    done, index = list[Mark](), 0
    while index < len(marks):
        mark, end = marks[index], partners.get(index, index)
        if end > index and keeps_content(text, mark):
            mark, index = Mark(Kind.OTHER, mark.start, marks[end].end, "kept"), end
        done.append(mark)
        index += 1
    return done


class _LocatedState(StateInline):
    """Notes where tokens begin."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta["at"] = self.pos
        return token

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        found = super().scanDelims(start, canSplitWord)
        end = start + found.length
        beside = self.src[max(0, start - 1) : start], self.src[end : end + 1]
        if self.env["is_strict"] or not canSplitWord or not any(map(EAST_ASIAN.match, beside)):
            return found
        opens, closes = (bool(char) and not char.isspace() for char in reversed(beside))
        return Scanned(opens, closes, found.length)


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


class _Parser(MarkdownIt):
    """Reads links to any address, such as `file:///a`, for it shows none."""

    def validateLink(self, url: str) -> bool:
        return True


def _new_parser() -> MarkdownIt:
    parser = _Parser("commonmark")
    parser.inline = _LocatingParser()
    parser.configure("commonmark").enable(["table", "strikethrough"]).disable("inline")
    parser.use(deflist_plugin).use(
        dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True
    )
    parser.use(footnote_plugin, inline=False, move_to_end=False).disable("footnote_ref")
    parser.inline.ruler2.disable("fragments_join")
    add_extensions(parser)
    add_directives(parser)
    add_blocks(parser)
    add_tables(parser)
    return parser
