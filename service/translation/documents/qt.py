"""Qt Linguist's TS files: <translation> is written from <source>."""

from __future__ import annotations

import html
from collections.abc import Iterator

import regex

from service.errors import InvalidDocument
from service.translation.documents.segments import (
    Edit,
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
)
from service.translation.documents.xml_text import XmlText, read_xml, text_of

_ROOT, _MESSAGE = frozenset({"ts"}), frozenset({"message"})
_LETTER = regex.compile(r"\p{L}")
_GONE = ("obsolete", "vanished")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Messages without a translation, or with `replaces` all. What was `unfinished` stays so, for
    a person to look at; obsolete messages stay."""
    xml = read_xml(content)
    root = next(xml.starts(_ROOT), None)
    if root is None:
        raise InvalidDocument("the file is not a TS file of Qt Linguist")
    places = [place for message in xml.starts(_MESSAGE) for place in _places(xml, message, options)]
    has_language = xml.attribute(root, "language") is not None
    edits = [] if has_language else [xml.new_attribute(root, "language", options.target)]
    return TextFile(PlacedText(xml.source, places, edits), xml.encode)


def _places(xml: XmlText, message: int, options: FileOptions) -> Iterator[Place]:
    named = {xml.tokens[child].name: child for child in xml.children(message)}
    source, translation = named.get("source"), named.get("translation")
    if source is None or translation is None or xml.attribute(translation, "type") in _GONE:
        return
    text = _read(xml, source)
    if text is None or not _LETTER.search(text):
        return
    forms = [i for i in xml.children(translation) if xml.tokens[i].name == "numerusform"]
    for target in forms or [translation]:
        if options.replaces or not xml.inner(target).strip():
            opening = xml.without_content(target)
            name = "numerusform" if forms else "translation"
            yield _place(text, opening, f"</{name}>")


def _place(text: str, opening: Edit, closing: str) -> Place:
    def write(translation: str) -> str:
        return opening.text + html.escape(translation, quote=False) + closing

    segment = Segment(text, "auto")
    return Place(opening.start, opening.end, segment, write, is_filled=True)


def _read(xml: XmlText, element: int) -> str | None:
    """The element's text; None if it has elements inside, such as <byte>."""
    parts = []
    for token in xml.tokens[element + 1 : xml.end_of(element) - 1]:
        if (text := text_of(token, xml.source)) is None:
            return None
        parts.append(html.unescape(text))
    return "".join(parts)
