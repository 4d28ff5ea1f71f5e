"""ODT, the texts of OpenDocument: paragraphs and headings, with spans, links and notes."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from service.errors import InvalidDocument
from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.archive_xml import place_members
from service.translation.documents.inline_xml import InlineContent, Role
from service.translation.documents.segments import FileOptions, Place
from service.translation.documents.xml_text import XmlText

_MEMBERS = ("content.xml", "styles.xml")
_PARAGRAPHS = frozenset({"text:p", "text:h"})
_PAIRS = frozenset({"text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"})
_STOPS = frozenset({"text:tab", "text:line-break"})


def parse(content: bytes, options: FileOptions) -> ArchiveFile:
    """The document, and the headers and footers of its styles."""
    archive = Archive(content)
    if "content.xml" not in archive.names:
        raise InvalidDocument("the file is not an ODT file: it has no content.xml")
    return place_members(archive, [name for name in _MEMBERS if name in archive.names], _places)


def _places(xml: XmlText) -> Iterator[Place]:
    return InlineContent(xml, _PARAGRAPHS, functools.partial(_role, xml)).all_places()


def _role(xml: XmlText, index: int) -> Role:
    name = xml.tokens[index].name
    if name in _STOPS:
        return "stop"
    return "pair" if name in _PAIRS else "single"
