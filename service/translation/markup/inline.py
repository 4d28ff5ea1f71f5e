"""The flow of a plain text: tags in it, such as `<b0>...</b0>`, and branches of ICU messages."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import regex

from service.translation.markup.elements import pair_tags
from service.translation.markup.flow import FindKept, Flow, FlowBuilder
from service.translation.markup.scanner import Kind, Token
from service.translation.placeholders import Span, find_kept

_LINE_BREAK = regex.compile(r"(?<=\S)[ \u3000]*+(?:\r\n|\n|\r)[ \u3000]*+(?=\S)")
_CHOICE = regex.compile(r"\s*+\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal)\s*+,")
_BRACE, _NUMBER, _BRANCH_DEPTH = regex.compile(r"[{}]"), regex.compile("#"), 2
_TAG = regex.compile(
    r"(?<!⟦)<(?P<end>/)?(?P<name>[A-Za-z\d][\w:.-]*+)(?:\s[^<>\n]*+)?(?<empty>/)?>"
)
"""Reserved pieces such as ⟦<1>⟧ have none."""


def text_flow(
    text: str, find: FindKept = find_kept, joins_lines: bool = False, is_spaced: bool = True
) -> Flow:
    """The flow of a plain text. Other tags than pairs around something stay in the text, where
    they are kept strings. If it `joins_lines`, a single line break is read as a space, or as
    nothing unless the language `is_spaced`."""
    builder = FlowBuilder({}, find)
    if branches := _branches(text):
        parts: list[str | Flow] = []
        position = 0
        for start, end in branches:
            branch = text_flow(text[start:end], functools.partial(_find_in_branch, find))
            parts += [text[position:start], branch]
            position = end
        builder.add_tag((*parts, text[position:]), 0, None)
        return builder.build()
    add = functools.partial(_add_joined, builder, is_spaced) if joins_lines else builder.add
    position = 0
    for number, (token, partner) in enumerate(_pairs(text)):
        add(text[position : token.start])
        builder.add_tag((text[token.start : token.end],), number, partner)
        position = token.end
    add(text[position:])
    return builder.build()


def _branches(text: str) -> list[Span]:
    """Where the texts of an ICU message stand, if it is one plural or choice."""
    if not _CHOICE.match(text) or "'{" in text:
        return []
    depth = begin = 0
    found = []
    for match in _BRACE.finditer(text):
        depth += 1 if match.group() == "{" else -1
        if match.group() == "{" and depth == _BRANCH_DEPTH:
            begin = match.end()
        elif match.group() == "}" and depth == _BRANCH_DEPTH - 1:
            found.append(Span(begin, match.start()))
        if depth == 0:
            return [] if text[match.end() :].strip() else found
    return []


def _find_in_branch(find: FindKept, text: str) -> Sequence[Span]:
    """What stays in a branch: also the sign for the number."""
    return sorted([*find(text), *(Span(*match.span()) for match in _NUMBER.finditer(text))])


def _add_joined(builder: FlowBuilder, is_spaced: bool, text: str) -> None:
    """Add text with its single line breaks read as spaces, or not at all."""
    position = 0
    for match in _LINE_BREAK.finditer(text):
        builder.add(text[position : match.start()])
        beside = text[match.start() - 1], text[match.end()]
        if is_spaced or any(char.isascii() for char in beside):
            builder.add_written(" ", match.group())
        else:
            builder.add_unread(match.group())
        position = match.end()
    builder.add(text[position:])


def _pairs(text: str) -> Iterator[tuple[Token, int]]:
    """The paired tags with the number of each one's partner."""
    if "</" not in text:
        return
    tokens = [
        Token(
            Kind.END if match["end"] else Kind.START,
            *match.span(),
            match["name"].lower(),
            match["empty"] is not None,
        )
        for match in _TAG.finditer(text)
    ]
    partners = {
        index: partner
        for index, partner in pair_tags(tokens).items()
        if tokens[min(index, partner)].end < tokens[max(index, partner)].start
    }
    numbers = {index: number for number, index in enumerate(sorted(partners))}
    for index in sorted(partners):
        yield tokens[index], numbers[partners[index]]
