"""What every format of files has in common: segments to translate, and the places they go back to.

A module of a format has a function `parse(content, options) -> ParsedFile`. It raises
InvalidDocument for what it cannot read, and its time and memory grow linearly with the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import regex

from service.errors import InvalidDocument

if TYPE_CHECKING:
    from service.translation.job import SplitSentences, TextFormat

_LETTER = regex.compile(r"\p{L}")
_LITERALS = frozenset({"true", "false", "null"})


class Segment(NamedTuple):
    """A text to translate, and how it is written."""

    text: str
    format: TextFormat = "text"
    split_sentences: SplitSentences = True


@dataclass(frozen=True)
class FileOptions:
    """`source`: a language code or "auto"; `replaces`: translate also what has a translation in the
    file already."""

    source: str
    target: str
    replaces: bool = False


class ParsedFile(Protocol):
    """A file taken apart."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def write(self, translations: Sequence[str]) -> bytes:
        """The file with its segments translated. With the segments' own texts it is the content
        that was parsed, byte for byte."""
        ...


Parse = Callable[[bytes, FileOptions], ParsedFile]


class Edit(NamedTuple):
    """source[start:end] becomes `text` if anything is translated."""

    start: int
    end: int
    text: str


class Place(NamedTuple):
    """source[start:end] has the segment; `write` makes what stands there of its translation. If it
    `is_filled`, also a translation that is the segment's own text is written."""

    start: int
    end: int
    segment: Segment
    write: Callable[[str], str] = str
    is_filled: bool = False


class PlacedText:
    """A source with places and edits that do not overlap. Other characters stay."""

    def __init__(self, source: str, places: Iterable[Place], edits: Iterable[Edit] = ()) -> None:
        self._source, self._edits = source, list(edits)
        self._places = sorted(places, key=lambda place: place.start)
        self.segments = [place.segment for place in self._places]

    def join(self, translations: Sequence[str]) -> str:
        """Raises ValueError unless there is one translation for each place."""
        pairs = list(zip(self._places, translations, strict=True))
        if all(place.segment.text == translation for place, translation in pairs):
            return self._source
        written = [
            Edit(place.start, place.end, place.write(translation))
            for place, translation in pairs
            if place.is_filled or place.segment.text != translation
        ]
        parts, position = [], 0
        for edit in sorted([*written, *self._edits]):
            parts += [self._source[position : edit.start], edit.text]
            position = edit.end
        return "".join([*parts, self._source[position:]])


class TextFile:
    """A file that is one placed text."""

    def __init__(self, text: PlacedText, encode: Callable[[str], bytes]) -> None:
        """`encode` spells the text as the file did."""
        self._text, self._encode = text, encode
        self.segments = text.segments

    def write(self, translations: Sequence[str]) -> bytes:
        return self._encode(self._text.join(translations))


def is_worded(value: str) -> bool:
    """Whether a value of a catalogue has letters and is not a value of a program."""
    return _LETTER.search(value) is not None and value.strip().lower() not in _LITERALS


def invalid(kind: str, reason: object) -> InvalidDocument:
    """The error for a file that is no valid `kind`."""
    return InvalidDocument(f"the file is not valid {kind}: {reason}")
