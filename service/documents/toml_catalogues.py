"""TOML, such as go-i18n's messages: tomllib says what is valid, and only strings are written.

A string stays in the style that it has, or is written as "quoted".
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator

import regex

from service.documents.icu_messages import with_whole_sentences
from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode_unicode,
    invalid,
    is_worded,
)
from service.documents.yaml_spelling import double

_TOKEN = regex.compile(
    r"""\#[^\n]*+
    |(?P<string>\"{3}(?:[^"\\]++|\\[\s\S]|"(?!""))*+\\?\"{0,5}|'{3}(?:[^']++|'(?!''))*+'{0,5}
        |"(?:[^"\\\n]|\\.)*+["\\]?|'[^'\n]*+'?)
    |(?P<name>[\w-]++)|[\[\]{}=,\n]""",
    regex.X,
)
"""Strings of what is no TOML may have no end."""
_LANGUAGE = regex.compile(r"lang(?:uage(?:_?code)?)?|locale|default_?content_?language", regex.I)
"""Keys of the language of a file."""
_IN_LITERAL = regex.compile(r"[\t\n\x20-\x7e\x80-\uffff\U00010000-\U0010ffff]*+")
_IN_LINES = str.maketrans({"\\": "\\\\", "\r": "\\r", "\x7f": "\\u007f"})
_JOINED = regex.compile(r'"(?="|\Z)')
"""A quotation mark that might end a string of three."""
_CONTROL = regex.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Values that are strings. The language that the file names becomes the target if it is the
    source. Raises InvalidDocument."""
    decoded = decode_unicode(content)
    try:
        tomllib.loads(decoded.text, parse_float=str)
    except ValueError as error:
        raise invalid("TOML", error) from None
    line_end = "\r\n" if "\r\n" in decoded.text else "\n"
    places: list[Place] = []
    edits: list[Edit] = []
    for key, start, end in _values(decoded.text):
        text = tomllib.loads(f"a = {decoded.text[start:end]}")["a"]
        if _LANGUAGE.fullmatch(key):
            if text.replace("_", "-").partition("-")[0] == options.source:
                edits.append(Edit(start, end, double(options.target)))
        elif is_worded(text):
            write = _spelling(decoded.text[start:end], line_end)
            places.append(Place(start, end, Segment(with_whole_sentences(text)), write))
    return TextFile(decoded, places, edits)


def _values(text: str) -> Iterator[tuple[str, int, int]]:
    """The keys of the strings that are values of valid TOML, and where these stand."""
    opened: list[str] = []
    is_value, key = False, ""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if token["string"] or token["name"]:
            if is_value and token["string"]:
                yield key, *token.span()
            elif not is_value:
                key = mark.strip("\"'")
        elif mark == "=":
            is_value = True
        elif mark == "\n":
            is_value = is_value and bool(opened)
        elif mark in "[{" and is_value:
            opened.append(mark)
            is_value = mark == "["
        elif mark in "]}," and opened:
            if mark != ",":
                opened.pop()
            is_value = opened[-1:] == ["["]


def _spelling(written: str, line_end: str) -> Callable[[str], str]:
    """How a translation is written in the style of this string."""
    for quotes, write in (('"""', _lines), ("'''", _literal), ("'", _literal)):
        if written.startswith(quotes):
            inside = written[len(quotes) :]
            is_below = len(quotes) > 1 and inside.startswith(("\n", "\r\n"))
            return functools.partial(write, quotes, line_end * is_below, line_end)
    return double


def _lines(quotes: str, before: str, line_end: str, text: str) -> str:
    """In three quotation marks, with its lines."""
    written = _JOINED.sub(r"\\\g<0>", text.translate(_IN_LINES))
    written = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
    if not before and written.startswith("\n"):
        before = line_end
    return f"{quotes}{before}{written.replace(chr(10), line_end)}{quotes}"


def _literal(quotes: str, before: str, line_end: str, text: str) -> str:
    """Without escapes, unless the text needs some."""
    is_allowed = _IN_LITERAL.fullmatch(text) and "'" not in text
    if not is_allowed or (len(quotes) == 1 and "\n" in text) or text.startswith("\n"):
        return double(text)
    return f"{quotes}{before}{text.replace(chr(10), line_end)}{quotes}"
