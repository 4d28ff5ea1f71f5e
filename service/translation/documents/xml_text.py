"""Read XML: expat says whether it is well-formed, the scanner of markup where everything stands.

Entities are never declared and never resolved: a document type that declares any is refused.
"""

from __future__ import annotations

import html
import xml.parsers.expat
from collections.abc import Iterator, Sequence

import regex

from service.errors import InvalidDocument
from service.translation.documents.encodings import DecodedText, decode
from service.translation.documents.segments import Edit, invalid
from service.translation.markup.scanner import Kind, Token, scan

_MAX_DEPTH = 200
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_ENCODING = regex.compile(r"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_ATTRIBUTE = regex.compile(r"""\s(?P<name>[^\s=<>/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


class XmlText:
    """A well-formed document as tokens. `partners`: the index of each tag's other tag."""

    def __init__(self, decoded: DecodedText) -> None:
        self.source, self.encode = decoded
        self.tokens = list(scan(self.source))
        self.partners = _pairs(self.tokens)

    def end_of(self, index: int) -> int:
        """The index after the element that begins with this token."""
        return self.partners.get(index, index) + 1

    def written(self, first: int, last: int) -> str:
        """tokens[first:last] as the source has them."""
        if first >= last:
            return ""
        return self.source[self.tokens[first].start : self.tokens[last - 1].end]

    def starts(
        self, names: frozenset[str], first: int = 0, last: int | None = None
    ) -> Iterator[int]:
        """The indices of the start tags of these names, in lower case."""
        for index in range(first, len(self.tokens) if last is None else last):
            token = self.tokens[index]
            if token.kind is Kind.START and token.name in names:
                yield index

    def children(self, index: int) -> Iterator[int]:
        """The indices of an element's child elements."""
        child, last = index + 1, self.end_of(index) - 1
        while child < last:
            if self.tokens[child].kind is Kind.START:
                yield child
            child = self.end_of(child)

    def attribute(self, index: int, name: str) -> str | None:
        """The value of a tag's attribute as written, or None."""
        token = self.tokens[index]
        for match in _ATTRIBUTE.finditer(self.source, token.start, token.end):
            if match["name"] == name:
                return match[2] if match[2] is not None else match[3]
        return None

    def inner(self, index: int) -> str:
        """What is between an element's tags, as written."""
        return self.written(index + 1, self.end_of(index) - 1)

    def new_attribute(self, index: int, name: str, value: str) -> Edit:
        """Adds an attribute to a start tag that does not have it."""
        token = self.tokens[index]
        at = token.end - (2 if token.is_empty else 1)
        space = "" if self.source[at - 1].isspace() else " "
        return Edit(at, at, f'{space}{name}="{html.escape(value)}"')

    def without_content(self, index: int) -> Edit:
        """Replaces an element by its start tag alone."""
        token = self.tokens[index]
        tag = self.source[token.start : token.end]
        if token.is_empty:
            tag = tag[:-2].rstrip() + ">"
        return Edit(token.start, self.tokens[self.end_of(index) - 1].end, tag)


def read_xml(content: bytes) -> XmlText:
    """Raises InvalidDocument unless the content is well-formed XML in UTF-8 or UTF-16."""
    decoded = decode(content)
    declared = _ENCODING.match(decoded.text)
    if declared and declared[1].lower() not in ("utf-8", "utf-16", "us-ascii", "ascii"):
        raise InvalidDocument("the file is XML in another encoding than UTF-8 or UTF-16")
    num_elements = _count_elements(content)
    xml = XmlText(decoded)
    if num_elements != sum(token.kind is Kind.START for token in xml.tokens):
        raise InvalidDocument("the file is XML with names of elements in other letters than A to Z")
    return xml


def text_of(token: Token, source: str) -> str | None:
    """The token's text, escaped as in XML; None if it is not text."""
    written = source[token.start : token.end]
    if token.kind in (Kind.TEXT, Kind.RAW):
        return written
    if token.kind is Kind.OTHER and written.startswith(_CDATA):
        inner = written[len(_CDATA) : -len(_CDATA_END)]
        return inner.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return None


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Each tag's index -> that of its partner, in well-formed XML."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is Kind.START and not token.is_empty:
            opened.append(index)
        elif token.kind is Kind.END and opened:
            start = opened.pop()
            partners[start], partners[index] = index, start
    return partners


class _Elements:
    """Counts elements, and how deep they are nested."""

    def __init__(self) -> None:
        self._depth = self.count = 0

    def enter(self, *_: object) -> None:
        self._depth += 1
        self.count += 1
        if self._depth > _MAX_DEPTH:
            raise InvalidDocument(f"the file's XML is nested deeper than {_MAX_DEPTH} elements")

    def leave(self, _: str) -> None:
        self._depth -= 1


def _refuse_entity(*_: object) -> None:
    raise InvalidDocument("the file's XML declares entities, which are not resolved")


def _count_elements(content: bytes) -> int:
    """The number of elements in well-formed XML. Raises InvalidDocument for other content."""
    parser, elements = xml.parsers.expat.ParserCreate(), _Elements()
    parser.StartElementHandler, parser.EndElementHandler = elements.enter, elements.leave
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(content, True)
    except xml.parsers.expat.ExpatError as error:
        raise invalid("XML", error) from None
    return elements.count
