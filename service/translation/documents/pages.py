"""HTML and EPUB, the pages of a book: a page is cut between blocks, and each part is translated as
`format: html` would be."""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from service.errors import InvalidDocument
from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
)
from service.translation.documents.xml_text import InlineContent, read_xml
from service.translation.markup.elements import is_block, keeps_content, pair_tags
from service.translation.markup.scanner import Kind, scan

_SEGMENT_CHARACTERS = 2000
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGE, _CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"
_ROOT_FILE, _ITEM = frozenset({"rootfile"}), frozenset({"item", "opf:item"})
_LABEL = frozenset({"text"})


def parse_html(content: bytes, options: FileOptions) -> TextFile:
    """A page's file."""
    return _page(decode(content))


def parse_epub(content: bytes, options: FileOptions) -> ArchiveFile:
    """The pages of the package's manifest, and the titles of its old table of contents. Its
    metadata stay."""
    archive = Archive(content, "an EPUB", _CONTAINER)
    if _ENCRYPTION in archive.names and _is_protected(archive):
        raise InvalidDocument("the book is protected against copying")
    texts = {}
    for name, media_type in dict(_items(archive)).items():
        xml = read_xml(archive.read(name))
        if media_type == _PAGE:
            texts[name] = _page(xml.decoded)
        else:
            labels = InlineContent(xml, _LABEL, lambda _: "single").all_places()
            texts[name] = TextFile(xml.decoded, labels)
    return ArchiveFile(archive, texts)


def _page(decoded: DecodedText) -> TextFile:
    """A page of HTML or XHTML. Its segments are blocks, or neighbouring ones together."""
    source = decoded.text
    cuts = _cuts(source)
    return TextFile(decoded, [Place(*cut, Segment(source[slice(*cut)], "html")) for cut in cuts])


def _cuts(source: str) -> Iterator[tuple[int, int]]:
    tokens = list(scan(source))
    partners = pair_tags(tokens)
    start = index = 0
    while index < len(tokens):
        token = tokens[index]
        if is_block(token.name) and token.start - start >= _SEGMENT_CHARACTERS:
            yield start, token.start
            start = token.start
        if token.kind is Kind.START and keeps_content(source, token):
            index = partners.get(index, index)
        index += 1
    if start < len(source):
        yield start, len(source)


def _is_protected(archive: Archive) -> bool:
    """Whether more than fonts is encrypted."""
    listed = archive.read(_ENCRYPTION)
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
