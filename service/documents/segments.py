"""What every format of files has in common: segments to translate, and the places they go back to.

A module of formats has functions `parse(content, options) -> ParsedFile`. They raise
InvalidDocument for what they cannot read, and their time and memory grow linearly with the content.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import regex

from service.documents.encodings import (
    encode_old,
    guessed_encoding,
    marked_utf_8,
    named_encoding,
    unicode_encoding,
)
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters

if TYPE_CHECKING:
    from service.translation.job import SplitSentences, TextFormat
    from service.translation.markup.coded_text import Text

_INNER = regex.compile(r"\0(\d{1,9}) (\d{1,9})\0")
_LITERALS = frozenset({"true", "false", "null"})
_IDENTIFIER = regex.compile(
    r"""
    # getting-started text/html;charset=utf-8 @scope/a.b ./a user:read
    [@~.]{0,2}(?:/?[\p{Ll}\d]++(?:[-_./+:]++[\p{Ll}\d]++)++|/[\p{Ll}\d]++)/?
        (?:;\ ?[\w-]++=[\w-]++)*+
    # en-US zh_Hant_TW de_DE.UTF-8
    |[a-z]{2,3}[-_](?:Han[st]|Latn|Cyrl|Arab|[A-Z]{2}(?![A-Z])|\d{3})(?:[-_.@][\w-]++)*+
    # %1$@ %lld/%lld
    |(?:%(?:\d{1,2}\$)?[-+\#.\d]*+(?:hh?|ll?|[Lzjtq])?[A-Za-z@](?:(?!%)\W)*+)++
    # ⌘⇧S
    |(?:[⌘⌃⌥⇧]\ ?)++\S{1,3}
    # collections.Shuffle
    |[a-z_]\w++(?:\.[A-Za-z_]\w++)++(?:\(\))?
    # Logo@2x.png README.MD
    |[\w.@+/-]*\w\.(?:[a-z][a-z\d]{1,4}|[A-Z][A-Z\d]{1,4})
    """,
    regex.X,
)
_DATE_PATTERN = regex.compile(
    r"""
    # MMMM d, yyyy  ddd, MMM D [at] h:mm A
    (?=.*(?:([yYMdDEH])\1|[Hh]:mm))(?:(?:(?:([yYMLdDEHhKkmsSaAzZ])\2{0,3}+|Do)(?![A-Za-z])
        |'[^'\n]*+'|\[[^\]\n]*+\]|[年月日])[^\w'\[]*+)++
    # F j, Y  l, d.m.Y H:i
    |(?=.*(?:\b[Yy]\b|:i))(?=.*\b[djFmMGgH])(?:(?:jS|[dDjlNFmMnYyaAgGhHisP])\b[\s,./:-]*+){2,}+
    """,
    regex.X,
)


class Segment(NamedTuple):
    """A text to translate, and how a string is written."""

    text: Text
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

    def write(self, translations: Sequence[Text]) -> bytes:
        """The file with its segments translated. With the segments' own texts it is the content
        that was parsed, byte for byte."""
        ...


class Edit(NamedTuple):
    """source[start:end] becomes `text` if anything is translated."""

    start: int
    end: int
    text: str


class Place(NamedTuple):
    """source[start:end] has the segment; `write` makes what stands there of its translation, which
    is a string or has codes like the segment's text. If it `is_filled`, also a translation that is
    the segment's own text is written."""

    start: int
    end: int
    segment: Segment
    write: Callable[[Any], str] = str
    is_filled: bool = False


def inner(start: int, end: int) -> str:
    """How a place writes source[start:end] where that has places of its own, such as a note within
    a sentence."""
    return f"\0{start} {end}\0"


class DecodedText(NamedTuple):
    """A file's text without its byte order mark. `encode` spells a text as the file was."""

    text: str
    encode: Callable[[str], bytes]


class TextFile:
    """A text with places and edits that do not overlap, but for places inside what another one
    writes as `inner`. Those at one position are written in order. Other characters stay."""

    def __init__(
        self, decoded: DecodedText, places: Iterable[Place], edits: Iterable[Edit] = ()
    ) -> None:
        self._source, self._encode = decoded
        self._edits = list(edits)
        self._places = sorted(places, key=lambda place: place.start)
        self.segments = [place.segment for place in self._places]

    def with_edits(self, edits: Iterable[Edit]) -> TextFile:
        """The file with more edits."""
        decoded = DecodedText(self._source, self._encode)
        return TextFile(decoded, self._places, [*self._edits, *edits])

    def write(self, translations: Sequence[Text]) -> bytes:
        """Raises ValueError unless there is one translation for each place."""
        if list(translations) == [segment.text for segment in self.segments]:
            return self._encode(self._source)
        return self.rewrite(translations)

    def rewrite(self, translations: Sequence[Text]) -> bytes:
        """As `write`, with the edits whatever is translated."""
        return self._encode(self._rewritten(translations))

    def _rewritten(self, translations: Sequence[Text]) -> str:
        written = [
            Edit(place.start, place.end, place.write(translation))
            for place, translation in zip(self._places, translations, strict=True)
            if place.is_filled or place.segment.text != translation
        ]
        edits = sorted([*written, *self._edits], key=lambda edit: edit[:2])
        return self._edited(edits, -1, len(self._source) + 1)

    def _edited(self, edits: Sequence[Edit], before: int, end: int) -> str:
        """source[before:end] with those of the edits that begin behind `before`; -1 is before the
        source."""
        parts, position = [], max(before, 0)
        first, last = (bisect.bisect_left(edits, (offset,)) for offset in (before + 1, end))
        for edit in map(edits.__getitem__, range(first, last)):
            if edit.start >= position:
                parts += [self._source[position : edit.start], self._with_inner(edits, edit)]
                position = edit.end
        return "".join([*parts, self._source[position:end]])

    def _with_inner(self, edits: Sequence[Edit], edit: Edit) -> str:
        """The text of an edit with what is written inside it."""

        def edited(inside: regex.Match[str]) -> str:
            start, end = int(inside[1]), int(inside[2])
            is_inside = edit.start <= start <= end <= edit.end
            return self._edited(edits, start, end) if is_inside else inside.group()

        return _INNER.sub(edited, edit.text)


def decode(
    content: bytes,
    language: str,
    encode_wide: Callable[[str], bytes] = marked_utf_8,
    charset: regex.Pattern[str] | None = None,
) -> DecodedText:
    """A text in Unicode, or in an old encoding: the one whose name `charset` finds in it, or one of
    a language that is translated; `language` may be "auto". `encode_wide` spells what the old
    encoding cannot. Raises InvalidDocument."""
    encoding = named_encoding(content, charset) if charset else None
    try:
        if encoding is None:
            return decode_unicode(content)
    except InvalidDocument:
        encoding = guessed_encoding(content, language)
        if encoding is None:
            raise
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise
    return decode_old(content, encoding, encode_wide)


def decode_old(content: bytes, encoding: str, encode_wide: Callable[[str], bytes]) -> DecodedText:
    """A text in this encoding. `encode_wide` spells what it cannot."""
    encode = functools.partial(encode_old, encoding, encode_wide=encode_wide)
    return DecodedText(content.decode(encoding), encode)


def decode_unicode(content: bytes) -> DecodedText:
    """UTF-8, and UTF-16 with a mark. Raises InvalidDocument for other encodings."""
    encoding, mark = unicode_encoding(content)
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            f"the file is not {encoding.upper()}: byte {error.start + len(mark)} is wrong; "
            "save it as UTF-8"
        ) from None
    if "\0" in text:
        raise InvalidDocument("the file is not a text: it has a zero byte; save it as UTF-8")
    return DecodedText(text, functools.partial(_encode, mark, encoding))


def _encode(mark: bytes, encoding: str, text: str) -> bytes:
    return mark + text.encode(encoding)


def is_worded(value: str) -> bool:
    """Whether a value of a catalogue has letters and is not a value of a program, such as a locale,
    the name of a file, or small words that are joined by signs."""
    stripped = value.strip()
    is_code = stripped.lower() in _LITERALS or _IDENTIFIER.fullmatch(stripped)
    return has_letters(value) and not is_code and not is_date_pattern(value)


def is_date_pattern(value: str) -> bool:
    """Whether a value says how a program writes dates: `d MMMM yyyy`, or PHP's `F j, Y`."""
    return _DATE_PATTERN.fullmatch(value.strip()) is not None


def invalid(kind: str, reason: object) -> InvalidDocument:
    """The error for a file that is no valid `kind`."""
    return InvalidDocument(f"the file is not valid {kind}: {reason}")
