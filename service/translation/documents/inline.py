"""Text with inline codes, such as runs and links, spelled as HTML for the tag engine.

A pair of codes becomes `<span i="0">...</span>`, a code by itself `<wbr i="1">`, one that ends a
sentence and keeps its place `<br i="2">`, and one that reads as a word `<code i="3">...</code>`.
The tag engine places the first two by alignment, and keeps the last as a placeholder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

_TAG = regex.compile(
    r'<(?:(?P<end>/span)|(?P<name>span|wbr|br) i="(?P<number>\d++)")>'
    r'|<code i="(?P<word>\d++)">[^<>]*+</code>'
)
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3000-\u303f\uff00-\uff65]"
)
_LETTER = regex.compile(r"\p{L}")
_REFERENCE = regex.compile(r"&[#\w]++;")


def joint(before: str, after: str) -> str:
    """What joins two lines of one sentence: nothing between letters of scripts without spaces."""
    is_unspaced = _UNSPACED.match(before[-1:]) and _UNSPACED.match(after[:1])
    return "" if is_unspaced else " "


class Event(NamedTuple):
    """A part of a translation: a text as written, or the code with this number."""

    kind: Literal["text", "open", "close", "code"]
    text: str = ""
    number: int = -1


class InlineText:
    """Collects the parts of one segment in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._num_codes = 0
        self._opened: list[int] = []
        self.has_letters = False

    @property
    def text(self) -> str:
        """The segment's text as HTML."""
        return "".join(self._parts)

    def add(self, escaped: str) -> None:
        """Add text in which `&`, `<` and `>` are spelled as references."""
        self._parts.append(escaped)
        self.has_letters |= _LETTER.search(_REFERENCE.sub("", escaped)) is not None

    def open(self) -> int:
        """Begin a pair -> its number."""
        number = self._code("span")
        self._opened.append(number)
        return number

    def close(self) -> None:
        """End the last pair that was begun."""
        self._opened.pop()
        self._parts.append("</span>")

    def single(self) -> int:
        """Add a code that the alignment places -> its number."""
        return self._code("wbr")

    def stop(self) -> int:
        """Add a code between two sentences -> its number."""
        return self._code("br")

    def word(self, escaped: str) -> int:
        """Add a code that reads as a word of the sentence -> its number."""
        number = self._code("code")
        self._parts.append(f"{escaped}</code>")
        return number

    def _code(self, name: str) -> int:
        number = self._num_codes
        self._num_codes += 1
        self._parts.append(f'<{name} i="{number}">')
        return number


def events(text: str) -> Iterator[Event]:
    """The parts of a translated segment; every code comes as often as in the source."""
    opened: list[int] = []
    position = 0
    for match in _TAG.finditer(text):
        if match.start() > position:
            yield Event("text", text[position : match.start()])
        position = match.end()
        if match["end"]:
            yield Event("close", number=opened.pop())
        elif match["name"] == "span":
            opened.append(int(match["number"]))
            yield Event("open", number=opened[-1])
        else:
            yield Event("code", number=int(match["number"] or match["word"]))
    if position < len(text):
        yield Event("text", text[position:])
