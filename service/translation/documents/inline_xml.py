"""The content of XML elements as inline text, for formats that keep text and codes in it."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from service.translation.documents.inline import Event, InlineText, events
from service.translation.documents.segments import Place, Segment
from service.translation.documents.xml_text import XmlText, text_of
from service.translation.markup.scanner import Kind

Role = Literal["pair", "single", "stop"]
"""What an element in a text is: tags around text, or a code that moves with its neighbours or ends
a sentence."""
RoleOf = Callable[[int], Role]
"""Tells it of the start tag with this index."""


class NestedElements:
    """Where elements of some names begin, to ask which elements have them inside."""

    def __init__(self, xml: XmlText, names: frozenset[str]) -> None:
        self.starts = list(xml.starts(names))

    def are_inside(self, first: int, end: int) -> bool:
        """Whether one begins after tokens[first] and before tokens[end]."""
        at = bisect.bisect_right(self.starts, first)
        return at < len(self.starts) and self.starts[at] < end


class InlineContent:
    """Finds the places of text in elements. An element with a paragraph inside ends the text before
    it and stays, because its paragraph has places of its own."""

    def __init__(self, xml: XmlText, paragraphs: frozenset[str], role_of: RoleOf) -> None:
        self._xml, self._role_of = xml, role_of
        self._paragraphs = NestedElements(xml, paragraphs)
        self._coded, self._first = _CodedText(), 0

    def all_places(self) -> Iterator[Place]:
        """The places of every paragraph."""
        for index in self._paragraphs.starts:
            yield from self.places(index)

    def places(self, element: int) -> Iterator[Place]:
        """The places of one element's own text."""
        index, last = element + 1, self._xml.end_of(element) - 1
        self._coded, self._first = _CodedText(), index
        while index < last:
            end = self._xml.end_of(index)
            if self._is_apart(index) and self._role_of(index) != "pair":
                yield from self._end(index)
                self._first = index = end
            else:
                index = self._take(index, end)
        yield from self._end(last)

    def _is_apart(self, index: int) -> bool:
        return self._paragraphs.are_inside(index, self._xml.end_of(index))

    def _take(self, index: int, end: int) -> int:
        """Handle a token or an element -> the index after it."""
        xml, token = self._xml, self._xml.tokens[index]
        text = text_of(token, xml.source)
        if text is not None:
            self._coded.text.add(text)
        elif token.kind is Kind.END:
            self._take_end(index)
        elif token.kind is not Kind.START:
            self._coded.single(xml.written(index, index + 1))
        elif self._is_apart(index):
            self._coded.stop(xml.written(index, index + 1))
        elif end > index + 1 and self._role_of(index) == "pair":
            self._coded.open(xml.written(index, index + 1), xml.written(end - 1, end))
        else:
            add = self._coded.stop if self._role_of(index) == "stop" else self._coded.single
            add(xml.written(index, end))
            return end
        return index + 1

    def _take_end(self, index: int) -> None:
        """The end of a pair, or of one that has a paragraph inside."""
        start = self._xml.partners[index]
        if self._is_apart(start):
            self._coded.stop(self._xml.written(index, index + 1))
        else:
            self._coded.text.close()

    def _end(self, last: int) -> Iterator[Place]:
        """End the text before tokens[last]."""
        if self._coded.text.has_letters:
            tokens = self._xml.tokens
            start, end = tokens[self._first].start, tokens[last - 1].end
            segment = Segment(self._coded.text.text, "html")
            yield Place(start, end, segment, self._coded.write)
        self._coded = _CodedText()


class _Code(NamedTuple):
    written: str
    closing: str = ""


class _CodedText:
    """Text and codes between two places that stay."""

    def __init__(self) -> None:
        self.text = InlineText()
        self._codes: list[_Code] = []

    def open(self, written: str, closing: str) -> None:
        self.text.open()
        self._codes.append(_Code(written, closing))

    def single(self, written: str) -> None:
        self.text.single()
        self._codes.append(_Code(written))

    def stop(self, written: str) -> None:
        self.text.stop()
        self._codes.append(_Code(written))

    def write(self, translation: str) -> str:
        """The translation with its codes as the source writes them."""
        return "".join(
            event.text if event.kind == "text" else self._written(event)
            for event in events(translation)
        )

    def _written(self, event: Event) -> str:
        code = self._codes[event.number]
        return code.closing if event.kind == "close" else code.written
