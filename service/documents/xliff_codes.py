"""The inline elements of XLIFF: those with text inside, and codes, of which two may be a pair. Tags
that are escaped in a text beside elements are codes, too."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.documents.xml_text import Role, XmlText
from service.translation.markup.scanner import Kind, Token

_OPENING, _CLOSING = frozenset({"bpt", "bx", "sc"}), frozenset({"ept", "ex", "ec"})
_CODES = _OPENING | _CLOSING | {"ph", "it", "sub", "x", "cp", "sm", "em"}
_TEXTS, _MARK = frozenset({"source", "seg-source", "mrk"}), "mrk"
_TAG_OF_ANGULAR = regex.compile(r"(?:START|(?P<end>CLOSE))_(?P<name>\w+?)(?:_\d+)?")
_ESCAPED_TAG = regex.compile(
    r"&lt;(?P<end>/)?(?P<name>[A-Za-z][\w:-]*+)"
    r"(?:\s(?:[^<>&/]|/(?!(?:&gt;|>))|&(?![lg]t;))*+)?(?P<empty>/)?(?:&gt;|>)"
)

_LINE_BREAK = regex.compile(
    r"""\s(?:ctype|subType|equiv|id|name)\s*+=\s*+["'](?:(?:xlf:)?lb|LINE_BREAK(?:_\d++)?|(?:x-)?br)["']
    |&lt;br\s*+/?(?:&gt;|>)""",
    regex.X,
)
"""What says that a code is a line break, or is one that is escaped."""


def role_of(xml: XmlText, index: int) -> Role:
    """Codes stay as they are, and what must not be translated. Line breaks end a text."""
    token = xml.tokens[index]
    if token.kind is Kind.OTHER or token.name in _CODES:
        return "stop" if _LINE_BREAK.search(xml.element(index)) else "single"
    if xml.end_of(index) <= index + 2:  # it has no text
        return "single"
    is_protected = xml.attribute(index, "mtype") == "protected"  # in XLIFF 1.2
    return "single" if is_protected or xml.attribute(index, "translate") == "no" else "pair"


def with_escaped_tags(xml: XmlText) -> XmlText:
    """The document with the escaped tags in texts that have elements as tokens of their own."""
    is_mixed = [False] * len(xml.tokens)
    for text in xml.starts(_TEXTS):
        if xml.tokens[text].name != _MARK or xml.attribute(text, "mtype") == "seg":
            inner = range(text + 1, xml.end_of(text) - 1)
            is_mixed[inner.start : inner.stop] = [any(xml.children(text))] * len(inner)
    tokens: list[Token] = []
    for token, is_split in zip(xml.tokens, is_mixed, strict=True):
        tokens += _split(xml, token) if is_split and token.kind is Kind.TEXT else [token]
    return XmlText(xml.decoded, tokens)


def _split(xml: XmlText, text: Token) -> Iterator[Token]:
    position = text.start
    for tag in _ESCAPED_TAG.finditer(xml.source, text.start, text.end):
        if position < tag.start():
            yield Token(Kind.TEXT, position, tag.start())
        yield Token(Kind.OTHER, *tag.span())
        position = tag.end()
    if position < text.end:
        yield Token(Kind.TEXT, position, text.end)


def tag_of(xml: XmlText, index: int) -> Token | None:
    """A code that may begin or end a pair, as the tag that it stands for."""
    _, start, end, name, _ = token = xml.tokens[index]
    if token.kind is Kind.OTHER and (tag := _ESCAPED_TAG.match(xml.source, start, end)):
        kind = Kind.END if tag["end"] else Kind.START
        return Token(kind, start, end, f"<{tag['name']}", is_empty=bool(tag["empty"]))
    if token.kind is not Kind.START or name not in _CODES:
        return None
    number = xml.attribute(index, "rid") or xml.attribute(index, "id") or ""
    if name in _OPENING:
        return Token(Kind.START, start, end, number)
    if name in _CLOSING:
        return Token(Kind.END, start, end, xml.attribute(index, "startRef") or number)
    if name == "x" and (tag := _TAG_OF_ANGULAR.fullmatch(number)):
        return Token(Kind.END if tag["end"] else Kind.START, start, end, tag["name"])
    return None
