"""Java .properties: values are translated; keys, comments and the formatting stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.errors import InvalidDocument
from service.translation.documents.encodings import DecodedText, decode
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
    invalid,
    is_worded,
)

_LINE = regex.compile(r"(?:[^\\\n\r]++|\\(?:\r\n|[\s\S])|\\\Z)*+(?:\r\n|\n|\r|\Z)")
_COMMENT = regex.compile(r"[ \t\f]*+[#!][^\n\r]*+(?:\r\n|\n|\r|\Z)")
_KEY = regex.compile(
    r"[ \t\f]*+(?:[^\\\s=:]++|\\(?:\r\n[ \t\f]*+|[\n\r][ \t\f]*+|[\s\S]))*+[ \t\f]*+[=:]?[ \t\f]*+"
)
_ESCAPE = regex.compile(r"\\(?:u([0-9a-fA-F]{4})|(\r\n|\n|\r)[ \t\f]*+|([\s\S]?))")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"}
_MESSAGE_FORMAT = regex.compile(r"\{\d")


@dataclass(frozen=True)
class _Spelling:
    """Writes a translation as a value. `is_message`: MessageFormat doubles apostrophes."""

    is_ascii: bool
    is_message: bool

    def __call__(self, translation: str) -> str:
        if self.is_message:
            translation = translation.replace("'", "''")
        written = "".join(_WRITTEN.get(char, char) for char in translation)
        if written[:1] == " ":
            written = "\\" + written
        return _escape(written) if self.is_ascii else written


def parse(content: bytes, options: FileOptions) -> TextFile:
    """In UTF-8 or ISO 8859-1, as Java reads them. A file of ASCII gets only escapes."""
    text, encode = _decode(content)
    is_ascii = text.isascii()
    places = []
    for start, end in _values(text):
        value = _read(text[start:end])
        is_message = bool(_MESSAGE_FORMAT.search(value)) and "''" in value
        if is_worded(value):
            read = value.replace("''", "'") if is_message else value
            places.append(Place(start, end, Segment(read), _Spelling(is_ascii, is_message)))
    return TextFile(PlacedText(text, places), encode)


def _decode(content: bytes) -> DecodedText:
    try:
        return decode(content)
    except InvalidDocument:
        if b"\0" in content:
            raise
        return DecodedText(content.decode("latin-1"), _encode_latin)


def _encode_latin(text: str) -> bytes:
    return _escape(text, 0xFF).encode("latin-1")


def _values(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(text):
        if comment := _COMMENT.match(text, position):
            position = comment.end()
            continue
        line = _LINE.match(text, position)
        if line is None or line.end() == position:
            raise invalid(".properties", f"line {text.count(chr(10), 0, position) + 1}")
        key = _KEY.match(text, position, line.end())
        end = position + len(line.group().rstrip("\r\n"))
        if key and key.end() < end:
            yield key.end(), end
        position = line.end()


def _read(written: str) -> str:
    """The value that is written so. A pair of surrogates is one character."""
    read = _ESCAPE.sub(_unescaped, written)
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(match: regex.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return ""
    return _ESCAPED.get(match[3], match[3])


def _escape(text: str, most: int = 0x7F) -> str:
    """Spell characters above `most` by their UTF-16 units."""
    if all(ord(char) <= most for char in text):
        return text
    return "".join(char if ord(char) <= most else _units(char) for char in text)


def _units(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
