"""Tags in plain text, such as `<b0>...</b0>`: pairs around text become tags of a flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from service.translation.flow import Flow, FlowBuilder
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, Token

_TAG = regex.compile(r"<(?P<end>/)?(?P<name>[A-Za-z][\w:.-]*+)(?:\s[^<>\n]*+)?(?<empty>/)?>")


def text_flow(text: str, keep: Sequence[str]) -> Flow:
    """The flow of a plain text. Other tags than pairs around something stay in the text, where
    they are kept strings."""
    builder = FlowBuilder({}, keep)
    position = 0
    for number, (token, partner) in enumerate(_pairs(text)):
        builder.add(text[position : token.start])
        builder.add_tag((text[token.start : token.end],), number, partner)
        position = token.end
    builder.add(text[position:])
    return builder.build()


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
