"""Apple's .strings: keys and values in the syntax of old property lists."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.documents.segments import (
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
    is_worded,
)

_COMPILED = (b"bplist", b"<?xml")
_SPACE = r"(?:\s++|/\*(?:[^*]++|\*(?!/))*+\*/|//[^\n\r]*+)*+"
_STRING = r"\"(?P<{0}>(?:[^\"\\]++|\\[\s\S])*+)\"|(?P<{0}_word>(?:[\w.$:-]++|/(?![/*]))++)"
_KEY, _VALUE = _STRING.format("key"), _STRING.format("value")
_ENTRY = regex.compile(rf"(?:{_KEY}){_SPACE}(?:={_SPACE}(?:{_VALUE}){_SPACE})?+;{_SPACE}")
_BEGINNING = regex.compile(_SPACE)
_ESCAPE = regex.compile(r"\\(?:U(?P<code>[0-9a-fA-F]{4})|(?P<octal>[0-7]{1,3})|(?P<char>[\s\S]))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}
_WRITTEN = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"})


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Values, which are in quotes or one word."""
    if content.startswith(_COMPILED):
        raise invalid(".strings", "it is a property list, as Xcode makes of a .strings file")
    decoded = decode(content, options.source)
    places = []
    for entry in _entries(decoded.text):
        group, write = ("value_word", _quoted) if entry["value_word"] else ("value", _escaped)
        text = _ESCAPE.sub(_unescaped, entry[group] or "")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if is_worded(text):
            places.append(Place(*entry.span(group), Segment(text, "auto"), write))
    return TextFile(decoded, places)


def _entries(text: str) -> Iterator[regex.Match[str]]:
    """Raises InvalidDocument."""
    beginning = _BEGINNING.match(text)
    position = beginning.end() if beginning else 0
    while position < len(text):
        entry = _ENTRY.match(text, position)
        if entry is None:
            raise invalid(".strings", f"line {text.count(chr(10), 0, position) + 1}")
        yield entry
        position = entry.end()


def _unescaped(match: regex.Match[str]) -> str:
    if match["code"]:
        return chr(int(match["code"], 16))
    if match["octal"]:
        return chr(int(match["octal"], 8) & 0xFF)
    return _ESCAPED.get(match["char"], match["char"])


def _escaped(text: str) -> str:
    return text.translate(_WRITTEN)


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'
