"""Translation memories in TMX 1.4: read as they are parsed, and written, unit by unit.

Codes inside a segment, such as `<bpt>`, are text as the tool wrote them: the tags of OmegaT and of
HTML are then found again in the texts that tools send.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import regex

from model.text.languages import Languages
from service.stores.xml_reader import MAX_TEXT, XmlReader, language_of

MAX_UNIT_CHARACTERS = MAX_TEXT
"""Of a source, and of its translation."""
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
    return _Reader(source, target).read(file)


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


class _Reader(XmlReader[Unit | None]):
    kind, roots = "TMX", ("tmx",)

    def __init__(self, source: str, target: str) -> None:
        super().__init__()
        self._languages = Languages([source, target])
        self._sides = source, target
        self._language = ""
        self._variants: dict[str, str | None] = {}
        """Texts by language; None is too long."""

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "tu":
            self._variants = {}
        elif name == "tuv":
            self._language = language_of(attributes)
        elif name == "seg":
            self.begin_text()
        elif name == "sub":  # its text is no part of the segment, as footnotes are not
            self.ignore_element()

    def close(self, name: str) -> None:
        if name == "seg" and self.has_text:
            self._take_variant(self.end_text())
        elif name == "tu":
            self.found.append(made_unit(*map(self._variants.get, self._sides)))

    def _take_variant(self, text: str | None) -> None:
        side = self._languages.find(self._language)
        if side is not None and (
            side not in self._variants or self._language.lower() == side.lower()
        ):
            self._variants[side] = text
