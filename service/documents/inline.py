"""Text with inline codes, such as runs and links, spelled as HTML for the tag engine.

A pair of codes becomes `<span i="0">...</span>`, or `<sup i="0">...</sup>` around what stands lower
or higher than its line; a code by itself becomes `<wbr i="1">`, one that ends a
sentence and keeps its place `<br i="2">`, and one that reads as a word `<code i="3">...</code>`.
The tag engine places the first two by alignment, and keeps the last as a placeholder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

from service.documents.segments import has_letters

_TAG = regex.compile(
    r'<(?:(?P<end>/(?:span|sup))|(?P<name>span|sup|wbr|br) i="(?P<number>[0-9]++)")>'
    r'|<code i="(?P<word>[0-9]++)">[^<>]*+</code>'
)
_PAIRS = ("span", "sup")
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3000-\u303f\uff00-\uff65]"
)
_REFERENCE = regex.compile(r"&[#\w]++;")


def joint(before: str, after: str) -> str:
    """What joins two lines of one sentence: nothing between letters of scripts without spaces."""
    is_unspaced = _UNSPACED.match(before[-1:]) and _UNSPACED.match(after[:1])
    return "" if is_unspaced else " "


class Code(NamedTuple):
    """What a code, or the two ends of a pair, are written as."""

    written: str
    closing: str = ""


class Event(NamedTuple):
    """A part of a translation: a text, or the code with this number. `written`: as the file has
    it, texts escaped."""

    kind: Literal["text", "open", "close", "code"]
    written: str
    number: int = -1


class InlineText:
    """Collects the texts and codes of one segment in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._opened: list[str] = []
        self.codes: list[Code] = []
        self.has_letters = False

    @property
    def text(self) -> str:
        """The segment's text as HTML."""
        return "".join(self._parts)

    def add(self, escaped: str) -> None:
        """Add text in which `&`, `<` and `>` are spelled as references."""
        self._parts.append(escaped)
        self.has_letters = self.has_letters or has_letters(_REFERENCE.sub("", escaped))

    def open(self, written: str, closing: str, *, is_script: bool = False) -> int:
        """Begin a pair -> its number. `is_script`: its text is a subscript or superscript."""
        self._opened.append("sup" if is_script else "span")
        return self._add(self._opened[-1], written, closing)

    def close(self) -> None:
        """End the last pair that was begun."""
        self._parts.append(f"</{self._opened.pop()}>")

    def single(self, written: str) -> None:
        """Add a code that the alignment places."""
        self._add("wbr", written)

    def stop(self, written: str) -> None:
        """Add a code between two sentences."""
        self._add("br", written)

    def word(self, written: str, escaped: str) -> None:
        """Add a code that reads as a word of the sentence."""
        self._add("code", written)
        self._parts.append(f"{escaped}</code>")

    def _add(self, name: str, written: str, closing: str = "") -> int:
        number = len(self.codes)
        self.codes.append(Code(written, closing))
        self._parts.append(f'<{name} i="{number}">')
        return number

    def events(self, translation: str) -> Iterator[Event]:
        """The parts of a translation; every code comes as often as in the source."""
        opened: list[int] = []
        position = 0
        for match in _TAG.finditer(translation):
            if match.start() > position:
                yield Event("text", translation[position : match.start()])
            position = match.end()
            if match["end"]:
                number = opened.pop()
                yield Event("close", self.codes[number].closing, number)
                continue
            number = int(match["number"] or match["word"])
            kind: Literal["open", "code"] = "open" if match["name"] in _PAIRS else "code"
            if kind == "open":
                opened.append(number)
            yield Event(kind, self.codes[number].written, number)
        if position < len(translation):
            yield Event("text", translation[position:])

    def write(self, translation: str) -> str:
        """The translation with its codes as the source writes them."""
        return "".join(event.written for event in self.events(translation))
