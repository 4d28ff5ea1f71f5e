"""EPUB: the pages of a book, and the titles of its old table of contents."""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from service.errors import InvalidDocument
from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.html_page import place_page
from service.translation.documents.inline_xml import InlineContent
from service.translation.documents.segments import FileOptions, Place, PlacedText
from service.translation.documents.xml_text import XmlText, read_xml

_CONTAINER = "META-INF/container.xml"
_PAGE, _CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"
_ROOT_FILE, _ITEM = frozenset({"rootfile"}), frozenset({"item", "opf:item"})
_LABEL = frozenset({"text"})


def parse(content: bytes, options: FileOptions) -> ArchiveFile:
    """Pages are those of the package's manifest. Its metadata stay."""
    archive = Archive(content)
    if _CONTAINER not in archive.names:
        raise InvalidDocument(f"the file is not an EPUB file: it has no {_CONTAINER}")
    if "META-INF/encryption.xml" in archive.names and _is_protected(archive):
        raise InvalidDocument("the book is protected against copying")
    texts = {}
    for name, media_type in dict(_items(archive)).items():
        xml = read_xml(archive.read(name))
        if media_type == _PAGE:
            placed = place_page(xml.source)
        else:
            placed = PlacedText(xml.source, _labels(xml))
        texts[name] = (placed, xml.encode)
    return ArchiveFile(archive, texts)


def _is_protected(archive: Archive) -> bool:
    """Whether more than fonts is encrypted."""
    listed = archive.read("META-INF/encryption.xml")
    return b".html" in listed or b".xhtml" in listed


def _items(archive: Archive) -> Iterator[tuple[str, str]]:
    """The members of the package with text, and their media types."""
    container = read_xml(archive.read(_CONTAINER))
    roots = (container.attribute(root, "full-path") for root in container.starts(_ROOT_FILE))
    for path in dict.fromkeys(root or "" for root in roots):
        if path not in archive.names:
            raise InvalidDocument("the file is not an EPUB file: its package is missing")
        package = read_xml(archive.read(path))
        for item in package.starts(_ITEM):
            media_type = package.attribute(item, "media-type") or ""
            href = unquote(html.unescape(package.attribute(item, "href") or ""))
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
            if media_type in (_PAGE, _CONTENTS) and name in archive.names:
                yield name, media_type


def _labels(xml: XmlText) -> Iterator[Place]:
    return InlineContent(xml, _LABEL, lambda _: "single").all_places()
