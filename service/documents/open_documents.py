"""ODT and ODP: the paragraphs of OpenDocument archives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import regex

from service.documents.archive import PROTECTED, Archive, ArchiveFile, properties_of, texts_of
from service.documents.locales import is_asian, locale_of
from service.documents.segments import Edit, FileOptions, Place
from service.documents.xml_text import InlineContent, Role, XmlText
from service.errors import InvalidDocument

_CONTENT, _STYLES, _TYPE = "content.xml", "styles.xml", "mimetype"
_MANIFEST = "META-INF/manifest.xml"
_TEXT_LANGUAGE = regex.compile(r"""\sfo:(language|country)="([^"]++)\"""")
_TEXT_ASIAN_LANGUAGE = regex.compile(r"""\sstyle:(language|country)-asian="([^"]++)\"""")
_TEXT_PARAGRAPHS = frozenset({"text:p", "text:h"})
_TEXT_PAIRS = frozenset({"text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"})
_TEXT_SCRIPT = regex.compile(
    r"""<style:style\s[^<>]*?style:name="([^"]++)"[^<>]*+>\s*+"""
    r"""<style:text-properties\s[^<>]*?style:text-position="(?:su|-?[1-9])"""
)
_ONE = (None, "1")
_TEXT_STOPS = frozenset({"text:tab", "text:line-break"})


def parse_text(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODT: the document, and the headers and footers of its styles."""
    archive = _open_document(content, "an ODT", b"text")
    return _open_document_file(archive, options, _open_text_places)


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODP: slides and their notes; masters and layouts, which are styles, stay."""
    archive = _open_document(content, "an ODP", b"presentation")
    return _open_document_file(archive, options, _no_places)


def _open_document(content: bytes, kind: str, media_type: bytes) -> Archive:
    archive = Archive(content, kind)
    if _MANIFEST in archive.names and archive.has_inside(_MANIFEST, b"encryption-data"):
        raise InvalidDocument(PROTECTED)
    archive.require(_CONTENT)
    if _TYPE in archive.names and not archive.has_inside(_TYPE, b"opendocument." + media_type):
        raise InvalidDocument(f"the file is not {kind} file, as its mimetype says")
    return archive


def _open_document_file(
    archive: Archive, options: FileOptions, style_places: Callable[[XmlText], Iterator[Place]]
) -> ArchiveFile:
    edits = functools.partial(_open_text_edits, options.target)
    texts = texts_of(archive, [_CONTENT], _open_text_places, edits)
    styles = texts_of(archive, [_STYLES], style_places, edits)
    properties = properties_of(archive, ["meta.xml"], locale_of(options.target))
    return ArchiveFile(archive, {**texts, **styles, **properties})


def _open_text_edits(target: str, xml: XmlText) -> Iterator[Edit]:
    """The language and country of styles."""
    values = dict(zip(("language", "country"), locale_of(target).split("-"), strict=True))
    pattern = _TEXT_ASIAN_LANGUAGE if is_asian(target) else _TEXT_LANGUAGE
    for match in pattern.finditer(xml.source):
        yield Edit(*match.span(2), values[match[1]])


def _open_text_places(xml: XmlText) -> Iterator[Place]:
    scripts = set(_TEXT_SCRIPT.findall(xml.source))

    def role(index: int) -> Role:
        name = xml.tokens[index].name
        if name in _TEXT_STOPS or (name == "text:s" and xml.attribute(index, "text:c") not in _ONE):
            return "stop"
        if name == "text:span" and xml.attribute(index, "text:style-name") in scripts:
            return "script"
        return "pair" if name in _TEXT_PAIRS else "single"

    return InlineContent(xml, _TEXT_PARAGRAPHS, role).all_places()


def _no_places(_: XmlText) -> Iterator[Place]:
    return iter(())
