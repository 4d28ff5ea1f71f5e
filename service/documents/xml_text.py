"""Read XML: expat says whether it is well-formed, the scanner of markup where everything stands.

Entities are never resolved. A document type that declares any is refused, but for short texts of a
format that has them.
"""

from __future__ import annotations

import bisect
import functools
import html
import xml.parsers.expat
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import regex

from service.documents.encodings import named_encoding
from service.documents.inline import InlineText, escape_markup
from service.documents.namespaces import with_usual_prefixes
from service.documents.segments import (
    DecodedText,
    Edit,
    Place,
    Segment,
    decode_old,
    decode_unicode,
    inner,
)
from service.errors import InvalidDocument, shown
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, Token, scan

_MAX_DEPTH, _LONGEST_ENTITY = 200, 200
_MARKUP = frozenset("<&%")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_CHARSET = regex.compile(r"""(?<=\A<\?xml\s[^>]*?\bencoding\s*=\s*["'])[^"']++""")
_ATTRIBUTE = regex.compile(r"""\s(?P<name>[^\s=<>/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_LINE_END = r"(?:_x000D_)?(?:\r\n|\n|\r|&#(?:10|x0*+[Aa]);)"
_KEPT_SPACE = regex.compile(rf"((?:{_LINE_END}|\t|\x20{{2,}})++)")
"""White space that stays in a text that keeps it; `_x000D_` is Excel's carriage return."""
_SPACES = r"[ \u00a0\u2000-\u200a\u3000]{3,}+"
GAPS = regex.compile(rf"({_SPACES})")
"""Spaces that put the texts around them in their places."""
LINE_ENDS = regex.compile(rf"((?:{_LINE_END})++|{_SPACES})")
"""The same, and line breaks in a text that keeps them."""
Role = Literal["pair", "script", "base", "single", "stop", "space", "line"]
"""What an element in a text is: tags around text, which may be a subscript or superscript, or a
code that moves with its neighbours, ends a sentence, or is a space if no other one is before it. A
line is a text by itself. Of an element with a base, the text is in its first child."""


class NotWellFormed(InvalidDocument):
    """A text is not XML."""


class XmlText:
    """A well-formed document as tokens. `partners`: the index of each tag's other tag."""

    def __init__(self, decoded: DecodedText, tokens: Sequence[Token] = ()) -> None:
        """`tokens`: all of the text, if they are others than the scanner's."""
        self.decoded, self.source = decoded, decoded.text
        self.tokens = tokens or list(scan(self.source, raw_text=frozenset()))
        self.partners = pair_tags(self.tokens, void=frozenset())
        self._starts: dict[frozenset[str], list[int]] = {}

    def starts(self, names: frozenset[str]) -> list[int]:
        """The indices of the start tags of these names, in lower case."""
        if names not in self._starts:
            self._starts[names] = [
                index
                for index, token in enumerate(self.tokens)
                if token.kind is Kind.START and token.name in names
            ]
        return self._starts[names]

    def has_inside(self, index: int, names: frozenset[str]) -> bool:
        """Whether an element has one of these names inside."""
        starts = self.starts(names)
        at = bisect.bisect_right(starts, index)
        return at < len(starts) and starts[at] < self.end_of(index)

    def inside(self, index: int, names: frozenset[str]) -> list[int]:
        """The indices of the start tags of these names inside an element."""
        starts = self.starts(names)
        first = bisect.bisect_right(starts, index)
        return starts[first : bisect.bisect_left(starts, self.end_of(index), first)]

    def end_of(self, index: int) -> int:
        """The index after the element that begins with this token."""
        return self.partners.get(index, index) + 1

    def written(self, first: int, last: int) -> str:
        """tokens[first:last] as the source has them."""
        if first >= last:
            return ""
        return self.source[self.tokens[first].start : self.tokens[last - 1].end]

    def element(self, index: int) -> str:
        """An element as written."""
        return self.written(index, self.end_of(index))

    def as_inner(self, index: int) -> str:
        """How a place writes an element that has places of its own."""
        return inner(self.tokens[index].start, self.tokens[self.end_of(index) - 1].end)

    def inner(self, index: int) -> str:
        """The text between an element's tags, as written."""
        return self.written(index + 1, self.end_of(index) - 1)

    def text(self, index: int) -> str:
        """The text of an element without elements inside, escaped."""
        tokens = self.tokens[index + 1 : self.end_of(index) - 1]
        return "".join(self.text_of(token) or "" for token in tokens)

    def text_of(self, token: Token) -> str | None:
        """The token's text, escaped; None if it is not text."""
        written = self.source[token.start : token.end]
        if token.kind in (Kind.TEXT, Kind.RAW):
            return written
        if token.kind is Kind.OTHER and written.startswith(_CDATA):
            return html.escape(written[len(_CDATA) : -len(_CDATA_END)], quote=False)
        return None

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

    def with_attribute(self, index: int, name: str, value: str) -> Edit:
        """Gives a start tag an attribute, or another value to that which it has."""
        token = self.tokens[index]
        for match in _ATTRIBUTE.finditer(self.source, token.start, token.end):
            if match["name"] == name:
                start, end = match.span(2 if match[2] is not None else 3)
                return Edit(start, end, html.escape(value))
        at = token.end - (2 if token.is_empty else 1)
        space = "" if self.source[at - 1].isspace() else " "
        return Edit(at, at, f'{space}{name}="{html.escape(value)}"')

    def new_text(self, index: int, text: str) -> Edit:
        """Replaces what is between an element's tags."""
        token, last = self.tokens[index], self.tokens[self.end_of(index) - 1]
        start, end = (token.end, token.end) if token.is_empty else (token.end, last.start)
        return Edit(start, end, "" if token.is_empty else html.escape(text))

    def emptied(self, index: int) -> tuple[Edit, str]:
        """Removes an element's content -> also the end tag that must be written after a new one."""
        token = self.tokens[index]
        if not token.is_empty:
            return Edit(token.end, self.tokens[self.end_of(index) - 1].start, ""), ""
        tag = self.source[token.start : token.end - 2].rstrip()
        return Edit(token.start + len(tag), token.end, ">"), f"</{token.name}>"

    def removed(self, index: int) -> Edit:
        """Removes an element."""
        return Edit(self.tokens[index].start, self.tokens[self.end_of(index) - 1].end, "")

    def place(
        self, first: int, last: int, inline: InlineText, write: Callable[[CodedText], str]
    ) -> Place:
        """The place of a text that is tokens[first:last]."""
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        return Place(start, end, Segment(inline.text), write)


class InlineContent:
    """Finds the places of text in elements. An element with a paragraph inside, such as a note, is
    a code of the text, and its paragraph has places of its own."""

    def __init__(
        self,
        xml: XmlText,
        paragraphs: frozenset[str] = frozenset(),
        role_of: Callable[[int], Role] = lambda _: "single",
        codes: Mapping[int, int] = MappingProxyType({}),
        looks: str = "",
    ) -> None:
        """`role_of`: of the element that begins with a token; `codes`: the first token of each
        element that begins or ends a pair -> that of the other one; `looks`: the beginning of tags
        that say how all words of a text look."""
        self._xml, self._paragraphs, self._role_of = xml, paragraphs, role_of
        self._codes, self._looks = codes, looks
        self._inline, self._first, self._keeps_lines = InlineText(escape_markup), 0, False
        self._ends: dict[int, int] = {}

    def all_places(self) -> Iterator[Place]:
        """The places of every paragraph."""
        for index in self._xml.starts(self._paragraphs):
            yield from self.places(index)

    def places(self, element: int, *, keeps_lines: bool = False) -> Iterator[Place]:
        """The places of one element's own text, whose line breaks, tabs and runs of spaces may be
        ends of sentences."""
        index, last = element + 1, self._xml.end_of(element) - 1
        self._first, self._keeps_lines = index, keeps_lines
        while index < last:
            index = self._handle(index, self._xml.end_of(index))
        yield from self._end(last)

    def _handle(self, index: int, end: int) -> int:
        """Handle a token or an element -> the index after it."""
        xml, token = self._xml, self._xml.tokens[index]
        tag = xml.written(index, index + 1)
        if (partner := self._codes.get(index)) is not None:
            self._add_code(index, partner)
            return end
        if (text := xml.text_of(token)) is not None:
            (add_lines if self._keeps_lines else InlineText.add_markup)(self._inline, text)
        elif (role := self._role_of(min(index, end - 1))) == "line":
            self._inline.stop(tag)
        elif token.kind is Kind.END:
            self._inline.close()
            return self._ends.get(index, index + 1)
        elif role == "base" and (base := self._open_base(index, end)) is not None:
            return base
        elif role in ("pair", "script") and end > index + 1:
            self._inline.open(tag, xml.written(end - 1, end), is_script=role == "script")
        elif role == "space" and self._inline.ends_with_word:
            self._inline.add(" ")
            return end
        else:
            is_paragraph = token.name in self._paragraphs
            has_places = is_paragraph or xml.has_inside(index, self._paragraphs)
            add = self._inline.stop if role == "stop" else self._inline.single
            add(xml.as_inner(index) if has_places else xml.written(index, end))
            return end
        return index + 1

    def _open_base(self, index: int, end: int) -> int | None:
        """Begin the text of an element's first child, and all before and behind it as one pair ->
        the index of the text; None if it has no token."""
        base = next(self._xml.children(index), index)
        last = self._xml.end_of(base) - 1
        if base == index or last <= base + 1:
            return None
        self._inline.open(self._xml.written(index, base + 1), self._xml.written(last, end))
        self._ends[last] = end
        return base + 1

    def _add_code(self, index: int, partner: int) -> None:
        if index < partner:
            self._inline.open(self._xml.element(index), self._xml.element(partner))
        else:
            self._inline.close()

    def _end(self, last: int) -> Iterator[Place]:
        """End the text before tokens[last]."""
        if self._inline.has_letters:
            alike = functools.partial(self._inline.write_alike, self._looks)
            write = alike if self._looks else self._inline.write
            yield self._xml.place(self._first, last, self._inline, write)
        self._inline = InlineText(escape_markup)


def add_lines(inline: InlineText, written: str) -> None:
    """Add text whose line breaks, tabs and runs of spaces are ends of sentences."""
    for number, part in enumerate(_KEPT_SPACE.split(written)):
        (inline.stop if number % 2 else inline.add_markup)(part)


def read_xml(content: bytes, *, has_entities: bool = False) -> XmlText:
    """`has_entities`: the document may declare names for short texts, which stay as they are.
    Raises NotWellFormed, or InvalidDocument unless the content is in Unicode, or in the encoding
    that it names."""
    if encoding := named_encoding(content, _CHARSET):
        decoded = decode_old(content, encoding, _in_utf_8)
    else:
        decoded = decode_unicode(content)
        declared = _CHARSET.search(decoded.text)
        if declared and declared.group().lower() not in ("utf-8", "utf-16"):
            raise InvalidDocument(f"the file is not in the encoding {shown(declared.group())}")
    num_elements = _count_elements(decoded.text, has_entities=has_entities)
    xml = XmlText(with_usual_prefixes(decoded))
    if num_elements != sum(token.kind is Kind.START for token in xml.tokens):
        raise InvalidDocument("the file is XML with names of elements in other letters than A to Z")
    return xml


def _in_utf_8(text: str) -> bytes:
    return _CHARSET.sub("utf-8", text, 1).encode()


def _count_elements(text: str, *, has_entities: bool) -> int:
    """The number of elements in well-formed XML. Raises InvalidDocument for other texts."""
    depth = count = 0

    def enter(*_: object) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > _MAX_DEPTH:
            raise InvalidDocument(f"the file's XML is nested deeper than {_MAX_DEPTH} elements")

    def leave(_: str) -> None:
        nonlocal depth
        depth -= 1

    def check_entity(_: str, is_parameter: bool, value: str | None, *__: object) -> None:
        is_short = value is not None and len(value) <= _LONGEST_ENTITY
        if has_entities and is_short and not is_parameter and _MARKUP.isdisjoint(value or ""):
            return
        raise InvalidDocument("the file's XML declares entities, which are not resolved")

    parser = xml.parsers.expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    parser.EntityDeclHandler = check_entity
    try:
        parser.Parse(text.encode(), True)
    except xml.parsers.expat.ExpatError as error:
        raise NotWellFormed(f"the file is not valid XML: {error}") from None
    return count
