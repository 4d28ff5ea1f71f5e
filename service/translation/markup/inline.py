"""Tags in plain text, such as `<b0>...</b0>`: pairs around text become tags of a flow."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import regex

from service.translation.markup.elements import pair_tags
from service.translation.markup.flow import FindKept, Flow, FlowBuilder
from service.translation.markup.scanner import Kind, Token
from service.translation.placeholders import find_kept

_LINE_BREAK = regex.compile(r"(?<=\S)[ \u3000]*+(?:\r\n|\n|\r)[ \u3000]*+(?=\S)")
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
    add = functools.partial(_add_joined, builder, is_spaced) if joins_lines else builder.add
    position = 0
    for number, (token, partner) in enumerate(_pairs(text)):
        add(text[position : token.start])
        builder.add_tag((text[token.start : token.end],), number, partner)
        position = token.end
    add(text[position:])
    return builder.build()


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
