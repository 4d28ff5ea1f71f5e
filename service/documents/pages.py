"""HTML, SVG, and EPUB, whose pages are those of a book: a page is cut between blocks, and each part
is translated as `format: html` would be."""

from __future__ import annotations

import functools
import html
import itertools
import posixpath
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import regex

from service.documents.archive import Archive, ArchiveFile, properties_of
from service.documents.encodings import marked_utf_8
from service.documents.locales import locale_of
from service.documents.segments import (
    DecodedText,
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
)
from service.documents.xml_text import InlineContent, NotWellFormed, Role, XmlText, read_xml
from service.errors import InvalidDocument
from service.translation.markup.elements import is_block, keeps_content, pair_tags
from service.translation.markup.scanner import Kind, Token, scan

_SEGMENT_CHARACTERS = 2000
_LANGUAGE = regex.compile(r"""(?<=\s(?:xml:)?lang\s*=\s*["']?)[a-z][\w-]*+""", regex.IGNORECASE)
_BODY_LANGUAGE = regex.compile(
    r"""(?<=<body\s(?:[^<>]*\s)?lang\s*=\s*["']?)[a-z][\w-]*+""", regex.IGNORECASE
)
_META_LANGUAGE = regex.compile(
    r"""<meta\s(?=(?:[^<>]*?\s)?(?:http-equiv\s*+=\s*+["']?content-language
        |property\s*+=\s*+["']?(?P<locale>og:locale))["'\s/>])
        (?:[^<>]*?\s)?content\s*+=\s*+["']?\K[a-z][\w-]*+(?=["'\s/>])""",
    regex.IGNORECASE | regex.X,
)
_CHARSET = regex.compile(
    r"""(?<=<(?:meta\s[^<>]*?charset|\?xml\s[^<>]*?encoding)\s*=\s*["']?)[\w.:-]++""",
    regex.IGNORECASE,
)
_TEMPLATE = regex.compile(
    r"""
    \A---[ \t]*+\r?\n(?:(?!---).*+\n)*+---[ \t]*+\r?$
    |\{\#(?s:(?!\#\}|\{\#).)*+\#\}
    |\{%-?\s*+(?P<name>comment|highlight|schema|javascript|stylesheet|style)\b
        (?s:(?!\{%-?\s*+(?:end)?(?P=name)\b).)*+\{%-?\s*+end(?P=name)\s*+-?%\}
    |\{\{(?:(?!\{\{|\}\}).)*+\n(?s:(?!\{\{|\}\}).)*+\}\}
    |\{%(?:(?!\{%|%\}).)*+\n(?s:(?!\{%|%\}).)*+%\}
    """,
    regex.X | regex.MULTILINE,
)
"""What makes pages: front matter, comments, code, and templates of several lines. Those of one
line are kept strings of the text."""
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = frozenset(
    {"application/xhtml+xml", "text/html", "text/x-oeb1-document", "text/x-oeb-document"}
)
"""The media types of pages, with those of old books."""
_PAGE_ENDINGS = b".htm", b".xhtml", b".xml"
_CONTENTS, _PACKAGE = "application/x-dtbncx+xml", "application/oebps-package+xml"
_ROOT_FILE, _ITEM = frozenset({"rootfile"}), frozenset({"item", "opf:item"})
_LABEL, _REFERENCE = frozenset({"text"}), frozenset({"itemref", "opf:itemref"})
_PICTURE, _PAGE_INSIDE = "image/svg+xml", frozenset({"foreignobject"})
_PICTURE_TEXTS, _POSITIONS = frozenset({"text", "title", "desc"}), ("x", "y", "dy")


def parse_html(content: bytes, options: FileOptions) -> TextFile:
    """A page's file."""
    return page(decode(content, options.source, _page_in_utf_8, _CHARSET), options)


def _page_in_utf_8(text: str) -> bytes:
    """With the encoding that the page names, or else a mark."""
    return named_utf_8(text).encode() if _CHARSET.search(text) else marked_utf_8(text)


def named_utf_8(text: str) -> str:
    """A page with UTF-8 in place of the encoding that it names, if any."""
    return _CHARSET.sub("utf-8", text, 1)


def parse_epub(content: bytes, options: FileOptions) -> ArchiveFile:
    """The pages of the package's manifest, which need not be well-formed, and pictures that are
    pages; its title, and those of its old table of contents. Its other metadata stay."""
    archive = Archive(content, "an EPUB")
    archive.require(_CONTAINER)
    if _ENCRYPTION in archive.names and _is_protected(archive):
        raise InvalidDocument("the book is protected against copying")
    packages = {path: archive.read_xml(path) for path in _packages(archive)}
    texts = properties_of(archive, packages, options.target)
    items = (item for path, package in packages.items() for item in _items(archive, path, package))
    for name, media_type in dict(items).items():
        if media_type in _PAGES:
            texts[name] = _page(archive, name, options)
        elif media_type == _PICTURE:
            texts[name] = _picture(archive.read_xml(name), options)
        else:
            xml = archive.read_xml(name)
            texts[name] = TextFile(xml.decoded, InlineContent(xml, _LABEL).all_places())
    return ArchiveFile(archive, texts)


def _page(archive: Archive, name: str, options: FileOptions) -> TextFile:
    """A page of a book."""
    try:
        return page(archive.read_xml(name).decoded, options)
    except NotWellFormed:
        return parse_html(archive.unpacked(name), options)


def parse_svg(content: bytes, options: FileOptions) -> TextFile:
    """The texts, titles and descriptions of a picture. Raises InvalidDocument."""
    return _picture(read_xml(content, has_entities=True), options)


def _picture(xml: XmlText, options: FileOptions) -> TextFile:
    """A page of SVG, in which programs such as draw.io have parts of HTML. What has a position of
    its own is a line; a tip within a text is a text."""

    def role(index: int) -> Role:
        if xml.tokens[index].name in _PICTURE_TEXTS:
            return "single"
        is_placed = any(xml.attribute(index, name) is not None for name in _POSITIONS)
        return "line" if is_placed else "pair"

    content, pages = InlineContent(xml, _PICTURE_TEXTS, role), [*_inner_pages(xml)]
    inside = {index for page in pages for index in range(*page)}
    texts = (index for index in xml.starts(_PICTURE_TEXTS) if index not in inside)
    places = itertools.chain(
        *(content.places(index) for index in texts),
        *(_page_places(xml, first, last) for first, last in pages),
    )
    root = next(token for token in xml.tokens if token.kind is Kind.START)
    return TextFile(xml.decoded, places, _languages(xml.source, root, options))


def _inner_pages(xml: XmlText) -> Iterator[tuple[int, int]]:
    """The tokens of the outermost parts that are HTML."""
    end = 0
    for index in xml.starts(_PAGE_INSIDE):
        if index >= end and (end := xml.end_of(index)) > index + 2:
            yield index + 1, end - 1


def _page_places(xml: XmlText, first: int, last: int) -> Iterator[Place]:
    """Of a page that is these tokens."""
    start, page = xml.tokens[first].start, xml.written(first, last)
    for cut in cuts(page, [*scan(page)]):
        yield Place(start + cut[0], start + cut[1], Segment(page[slice(*cut)], "html"))


def _languages(source: str, root: Token, options: FileOptions) -> list[Edit]:
    marks = _LANGUAGE.finditer(source, root.start, root.end)
    return [Edit(*mark.span(), options.target) for mark in marks]


def page(decoded: DecodedText, options: FileOptions) -> TextFile:
    """A page of HTML or XHTML. Its segments are blocks, or neighbouring ones together, after the
    tag that says the language; others say it in the body's, or in elements of the head."""
    source = decoded.text
    tokens = list(scan(source))
    root = next((token for token in tokens if token.kind is Kind.START), None)
    start, edits = 0, []
    if root is not None and root.name == "html":
        start = root.end
        edits = _languages(source, root, options)
    write = functools.partial(_with_language, options.target)
    places = [
        Place(*cut, Segment(source[slice(*cut)], "html"), write)
        for cut in cuts(source, tokens, start)
    ]
    return TextFile(decoded, places, edits)


def _with_language(target: str, text: str) -> str:
    """A part of a page that says to be in the target."""

    def marked(found: regex.Match[str]) -> str:
        return locale_of(target).replace("-", "_") if found["locale"] else target

    return _META_LANGUAGE.sub(marked, _BODY_LANGUAGE.sub(target, text))


def cuts(source: str, tokens: Sequence[Token], start: int = 0) -> Iterator[tuple[int, int]]:
    """Where the segments are: between blocks, without templates."""
    partners, templates = pair_tags(tokens), _Templates(source)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if is_block(token.name) and token.start - start >= _SEGMENT_CHARACTERS:
            yield start, token.start
            start = token.start
        if token.kind is Kind.TEXT:
            for template in templates.inside(max(start, token.start), token.end):
                yield start, template.start()
                start = template.end()
        if token.kind is Kind.START and keeps_content(source, token):
            index = partners.get(index, index)
        index += 1
    if start < len(source):
        yield start, len(source)


class _Templates:
    """The templates of a page, in order."""

    def __init__(self, source: str) -> None:
        self._found = _TEMPLATE.finditer(source)
        self._next = next(self._found, None)

    def inside(self, start: int, end: int) -> Iterator[regex.Match[str]]:
        """Those that begin between these offsets, which grow from call to call."""
        while self._next is not None and self._next.start() < end:
            if self._next.start() >= start:
                yield self._next
            self._next = next(self._found, None)


def _is_protected(archive: Archive) -> bool:
    """Whether more than fonts is encrypted."""
    listed = archive.read(_ENCRYPTION)
    return any(ending in listed for ending in _PAGE_ENDINGS)


def _packages(archive: Archive) -> Iterator[str]:
    """The packages of the container, which may name other forms of the book, such as a PDF."""
    container = archive.read_xml(_CONTAINER)
    roots = (
        container.attribute(root, "full-path")
        for root in container.starts(_ROOT_FILE)
        if container.attribute(root, "media-type") in (None, _PACKAGE)
    )
    for path in dict.fromkeys(root or "" for root in roots):
        if path not in archive.names:
            raise InvalidDocument("the file is not an EPUB file: its package is missing")
        yield path


def _items(archive: Archive, path: str, package: XmlText) -> Iterator[tuple[str, str]]:
    """The members of a package with text, and their media types. Pictures are pages if they stand
    in the order of reading."""
    read = {package.attribute(reference, "idref") for reference in package.starts(_REFERENCE)}
    for item in package.starts(_ITEM):
        media_type = package.attribute(item, "media-type") or ""
        href = unquote(html.unescape(package.attribute(item, "href") or ""))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
        is_page = media_type == _PICTURE and package.attribute(item, "id") in read
        if (is_page or media_type in {*_PAGES, _CONTENTS}) and name in archive.names:
            yield name, media_type
