"""JSON: string values are translated; keys, numbers and the formatting stay.

The scanner is ours, because no well-kept library tells where in the file a value stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import regex

from service.errors import InvalidDocument
from service.translation.documents.encodings import decode
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
    invalid,
    is_worded,
)

_MAX_DEPTH = 500
_TOKEN = regex.compile(
    r"""[ \t\n\r]*+(?:"""
    r"""(?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")"""
    r"""|(?P<mark>[{}\[\],:])"""
    r"""|(?P<other>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null))"""
)
_SPACE = regex.compile(r"[ \t\n\r]*+")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Only what RFC 8259 allows. A key that begins with `@` or `$` keeps its value."""
    text, encode = decode(content)
    is_ascii = text.isascii() and "\\u" in text
    places = []
    for start, end in _Scanner(text).values():
        value = json.loads(text[start:end])
        if is_worded(value) and not _has_surrogate(value):
            places.append(Place(start, end, Segment(value), _Spelling(is_ascii)))
    return TextFile(PlacedText(text, places), encode)


class _Spelling:
    """Writes a translation as a JSON string; in ASCII if the file spells its letters so."""

    def __init__(self, is_ascii: bool) -> None:
        self._is_ascii = is_ascii

    def __call__(self, translation: str) -> str:
        return json.dumps(translation, ensure_ascii=self._is_ascii)


class _Scanner:
    """A validating scanner of JSON. It holds only the containers that are open."""

    def __init__(self, text: str) -> None:
        self._text, self._position = text, 0
        self._opened: list[str] = []
        self._is_kept: list[bool] = []

    def values(self) -> Iterator[tuple[int, int]]:
        """The spans of string values. Raises InvalidDocument."""
        yield from self._value(is_kept=False)
        while self._opened:
            yield from self._member()
        if _SPACE.fullmatch(self._text, self._position) is None:
            raise self._error()

    def _value(self, *, is_kept: bool) -> Iterator[tuple[int, int]]:
        match = self._next()
        if match["string"] and not is_kept:
            yield match.span("string")
        elif match["mark"] in ("{", "["):
            self._open(match["mark"], is_kept=is_kept)
        elif match["mark"]:
            raise self._error()

    def _open(self, mark: str, *, is_kept: bool) -> None:
        """Open a container, unless it is empty."""
        if len(self._opened) == _MAX_DEPTH:
            raise InvalidDocument(f"the file's JSON is nested deeper than {_MAX_DEPTH} values")
        closing = {"{": "}", "[": "]"}[mark]
        after = _SPACE.match(self._text, self._position)
        if after and self._text.startswith(closing, after.end()):
            self._position = after.end() + 1
            return
        self._opened.append(closing)
        self._is_kept.append(is_kept)

    def _close(self) -> None:
        """Close the innermost container, and those that end with it."""
        while self._opened:
            match = self._next()
            if match["mark"] == self._opened[-1]:
                self._opened.pop()
                self._is_kept.pop()
            elif match["mark"] == ",":
                return
            else:
                raise self._error()

    def _member(self) -> Iterator[tuple[int, int]]:
        is_kept = self._is_kept[-1]
        if self._opened[-1] == "}":
            key = self._next()["string"]
            if not key or self._next()["mark"] != ":":
                raise self._error()
            is_kept = is_kept or key[1] in "@$"
        depth = len(self._opened)
        yield from self._value(is_kept=is_kept)
        if len(self._opened) == depth:
            self._close()

    def _next(self) -> regex.Match[str]:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise self._error()
        self._position = match.end()
        return match

    def _error(self) -> InvalidDocument:
        line = self._text.count("\n", 0, self._position) + 1
        return invalid("JSON", f"line {line}")


def _has_surrogate(value: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in value)
