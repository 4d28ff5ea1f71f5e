"""The formats of files that are translated, by the endings of their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from service.errors import InvalidDocument, UnsupportedFile, shown
from service.translation.documents import (
    epub,
    html_page,
    json_values,
    markdown,
    odt,
    pdf,
    plain,
    po,
    properties,
    qt,
    slides,
    subtitles,
    word,
    xliff,
)
from service.translation.documents.segments import FileOptions, Parse, ParsedFile

_OFFICE = "application/vnd.openxmlformats-officedocument"


class FileFormat(NamedTuple):
    """How files are parsed, the media type of a translation, and the ending of its name."""

    parse: Parse
    media_type: str
    suffix: str


def _formats() -> dict[str, FileFormat]:
    known: list[tuple[tuple[str, ...], Parse, str]] = [
        ((".txt",), plain.parse, "text/plain"),
        ((".md", ".markdown"), markdown.parse, "text/markdown"),
        ((".html", ".htm", ".xhtml"), html_page.parse, "text/html"),
        ((".srt",), subtitles.parse_srt, "application/x-subrip"),
        ((".vtt",), subtitles.parse_vtt, "text/vtt"),
        ((".po", ".pot"), po.parse, "text/x-gettext-translation"),
        ((".xlf", ".xliff"), xliff.parse, "application/xliff+xml"),
        ((".ts",), qt.parse, "application/x-linguist"),
        ((".json",), json_values.parse, "application/json"),
        ((".properties",), properties.parse, "text/plain"),
        ((".docx",), word.parse, f"{_OFFICE}.wordprocessingml.document"),
        ((".pptx",), slides.parse, f"{_OFFICE}.presentationml.presentation"),
        ((".odt",), odt.parse, "application/vnd.oasis.opendocument.text"),
        ((".epub",), epub.parse, "application/epub+zip"),
    ]
    formats = {
        suffix: FileFormat(parse, media_type, suffix)
        for suffixes, parse, media_type in known
        for suffix in suffixes
    }
    return {**formats, ".pdf": FileFormat(pdf.parse, "text/plain", ".txt")}


FORMATS: Mapping[str, FileFormat] = _formats()


def format_of(name: str) -> FileFormat:
    """The format of a file by its name. Raises UnsupportedFile."""
    _, dot, ending = name.rpartition(".")
    found = FORMATS.get(dot + ending.lower())
    if found is None:
        raise UnsupportedFile(f"the file must be {', '.join(FORMATS)}; got {shown(name)}")
    return found


def parse_file(content: bytes, name: str, options: FileOptions) -> ParsedFile:
    """Raises UnsupportedFile, InvalidDocument or DocumentTooLarge."""
    try:
        return format_of(name).parse(content, options)
    except RecursionError:
        raise InvalidDocument("the file is nested too deeply") from None
