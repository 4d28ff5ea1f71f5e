"""Translation memories in TMX 1.4: read as they are parsed, and written, unit by unit.

Codes inside a segment, such as `<bpt>`, are text as the tool wrote them: the tags of OmegaT and of
HTML are then found again in the texts that tools send.
"""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import regex

from model.text.languages import Languages
from service.errors import InvalidDocument

MAX_UNIT_CHARACTERS = 10_000
"""Of a source, and of its translation."""
_CHUNK, _MAX_TOKEN = 2**16, 2**20
"""Bytes to read at once, and that may wait for the end of a tag."""
_MAX_DEPTH, _MAX_NAMES = 100, 1000
"""Of elements in each other, and names of elements and attributes, which the parser keeps."""
_NO_XML = regex.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
  <header creationtool="Dragoman" creationtoolversion="1" segtype="block" o-tmf="Dragoman"
    adminlang="en" srclang={} datatype="plaintext"/>
  <body>
"""
_TAIL = "  </body>\n</tmx>\n"


class Unit(NamedTuple):
    """A text, and its translation."""

    source: str
    target: str


def made_unit(source: str | None, target: str | None) -> Unit | None:
    """None if a side is missing, blank or too long."""
    if source is None or target is None:
        return None
    unit = Unit(source.strip(), target.strip())
    return unit if all(0 < len(side) <= MAX_UNIT_CHARACTERS for side in unit) else None


def read_tmx(file: BinaryIO, source: str, target: str) -> Iterator[Unit | None]:
    """The units of the pair, None for one that cannot be used, while the file is read.

    A variant of a language, such as en-US, is that language; of several that with its very code is
    taken, else the first. Raises InvalidDocument.
    """
    reader = _Reader(source, target)
    while chunk := file.read(_CHUNK):
        yield from reader.feed(chunk)
    yield from reader.feed(b"", is_last=True)


def write_tmx(units: Iterable[Unit], source: str, target: str) -> Iterator[str]:
    """The file in parts. Characters that XML does not allow are left out."""
    yield _HEAD.format(quoteattr(source))
    for unit in units:
        sides = zip((source, target), unit, strict=True)
        variants = "".join(_variant(language, text) for language, text in sides)
        yield f"    <tu>{variants}</tu>\n"
    yield _TAIL


def _variant(language: str, text: str) -> str:
    written = escape(_NO_XML.sub("", text), {"\r": "&#13;"})
    return f"<tuv xml:lang={quoteattr(language)}><seg>{written}</seg></tuv>"


class _Reader:
    """Takes a file in chunks; its memory does not grow with the file."""

    def __init__(self, source: str, target: str) -> None:
        self._languages = Languages([source, target])
        self._sides = source, target
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._entity
        self._units: list[Unit | None] = []
        self._num_bytes = self._depth = 0
        self._language = ""
        self._variants: dict[str, str | None] = {}
        """Texts by language; None is too long."""
        self._segment: list[str] | None = None
        self._num_subflows = 0
        """Open elements `sub`: their texts are no part of the segment, as footnotes are not."""
        self._num_characters = 0

    def feed(self, chunk: bytes, *, is_last: bool = False) -> list[Unit | None]:
        """The units that end in the chunk."""
        self._units = []
        try:
            self._parser.Parse(chunk, is_last)
        except xml.parsers.expat.ExpatError as error:
            raise InvalidDocument(f"it is no valid XML: {error}") from error
        except (LookupError, ValueError) as error:  # expat asks Python for other encodings
            raise InvalidDocument(f"save it as UTF-8; its encoding is not read: {error}") from error
        self._num_bytes += len(chunk)
        if self._num_bytes - self._parser.CurrentByteIndex > _MAX_TOKEN:
            raise self._refused(f"a tag or comment has more than {_MAX_TOKEN} bytes")
        if len(self._parser.intern) > _MAX_NAMES:
            raise self._refused(f"elements and attributes have more than {_MAX_NAMES} names")
        return self._units

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._refused(f"elements are nested more than {_MAX_DEPTH} deep")
        if self._depth == 1 and name != "tmx":
            raise self._refused(f"the file must be TMX, got an element {name[:60]!r}")
        if name == "tu":
            self._variants = {}
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg":
            self._segment, self._num_characters, self._num_subflows = [], 0, 0
        elif name == "sub":
            self._num_subflows += 1

    def _characters(self, text: str) -> None:
        if self._segment is not None and not self._num_subflows:
            self._num_characters += len(text)
            if self._num_characters <= MAX_UNIT_CHARACTERS:
                self._segment.append(text)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "seg" and self._segment is not None:
            is_whole = self._num_characters <= MAX_UNIT_CHARACTERS
            self._take_variant("".join(self._segment) if is_whole else None)
            self._segment = None
        elif name == "sub":
            self._num_subflows -= 1
        elif name == "tu":
            self._units.append(made_unit(*map(self._variants.get, self._sides)))

    def _take_variant(self, text: str | None) -> None:
        side = self._languages.find(self._language)
        if side is not None and (
            side not in self._variants or self._language.lower() == side.lower()
        ):
            self._variants[side] = text

    def _doctype(self, _: str, __: str | None, ___: str | None, has_subset: bool) -> None:
        if has_subset:
            raise self._refused("its document type must not declare anything")

    def _entity(self, name: str, _: bool) -> None:
        raise self._refused(f"the entity {name[:60]!r} is not declared")

    def _refused(self, reason: str) -> InvalidDocument:
        return InvalidDocument(f"line {self._parser.CurrentLineNumber}: {reason}")
