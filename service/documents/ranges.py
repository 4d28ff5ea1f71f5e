"""Pairs of codes that stand for the two ends of something, such as a bookmark or a comment: both
stay around the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import regex

from service.documents.xml_text import XmlText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, Token

_END_OF_RANGE = regex.compile(
    r"(?P<kind>w:(?:bookmark|commentrange|perm|move(?:from|to)range|customxml\w+range)"
    r"|text:(?:bookmark|reference-mark|(?:alphabetical-index|user-index|toc)-mark)-)"
    r"(?P<edge>start|end)"
)
_NAMES = "w:id", "text:name", "text:id"
"""The attributes by which the two ends know each other."""


def range_tag(xml: XmlText, index: int) -> Token | None:
    """An end of a range of Word or OpenDocument, as the tag that it stands for."""
    token = xml.tokens[index]
    edge = _END_OF_RANGE.fullmatch(token.name) if token.kind is Kind.START else None
    if edge is None:
        return None
    name = next((value for key in _NAMES if (value := xml.attribute(index, key))), "")
    kind = Kind.START if edge["edge"] == "start" else Kind.END
    return Token(kind, token.start, token.end, f"{edge['kind']} {name}")


def pairs_among(xml: XmlText, elements: Iterable[int]) -> dict[int, int]:
    """The ranges whose two ends are among neighbouring elements: the index of each end -> that of
    the other one. Pairs are nested."""
    found = [(index, tag) for index in elements if (tag := range_tag(xml, index))]
    pairs = pair_tags([tag for _, tag in found], void=frozenset())
    return {found[one][0]: found[other][0] for one, other in pairs.items()}


def pairs_of_codes(xml: XmlText, tag_of: Callable[[XmlText, int], Token | None]) -> dict[int, int]:
    """The index of each code that begins or ends a pair -> that of the other one. Both are in the
    same element, and pairs are nested. `tag_of`: the tag that a code stands for. Linear time."""
    tags: list[Token] = []
    indices: list[int] = []
    parents = [0]
    index = 0
    while index < len(xml.tokens):
        token = xml.tokens[index]
        if tag := tag_of(xml, index):
            tags.append(tag._replace(name=f"{parents[-1]} {tag.name}"))
            indices.append(index)
            index = xml.end_of(index) - 1
        elif token.kind is Kind.START and index in xml.partners:
            parents.append(index)
        elif token.kind is Kind.END:
            parents.pop()
        index += 1
    pairs = pair_tags(tags, void=frozenset())
    return {indices[one]: indices[other] for one, other in pairs.items()}
