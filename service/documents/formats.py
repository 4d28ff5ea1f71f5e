"""The formats of files that are translated, by the endings of their names.

Their modules are imported where files are parsed: a server does that in processes of their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple

from service.documents.segments import FileOptions, ParsedFile
from service.errors import InvalidDocument, UnsupportedFile, shown

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_MICROSOFT = "application/vnd.ms"
_PROGRAMS = {
    "office.parse_word": {
        ".docx": f"{_OFFICE}.wordprocessingml.document",
        ".dotx": f"{_OFFICE}.wordprocessingml.template",
        ".docm": f"{_MICROSOFT}-word.document.macroEnabled.12",
        ".dotm": f"{_MICROSOFT}-word.template.macroEnabled.12",
    },
    "office.parse_slides": {
        ".pptx": f"{_OFFICE}.presentationml.presentation",
        ".potx": f"{_OFFICE}.presentationml.template",
        ".ppsx": f"{_OFFICE}.presentationml.slideshow",
        ".pptm": f"{_MICROSOFT}-powerpoint.presentation.macroEnabled.12",
        ".potm": f"{_MICROSOFT}-powerpoint.template.macroEnabled.12",
        ".ppsm": f"{_MICROSOFT}-powerpoint.slideshow.macroEnabled.12",
    },
    "workbooks.parse_workbook": {
        ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
        ".xltx": f"{_OFFICE}.spreadsheetml.template",
        ".xlsm": f"{_MICROSOFT}-excel.sheet.macroEnabled.12",
        ".xltm": f"{_MICROSOFT}-excel.template.macroEnabled.12",
    },
    "open_documents.parse_text": {".odt": f"{_OPEN}.text", ".ott": f"{_OPEN}.text-template"},
    "open_documents.parse_slides": {
        ".odp": f"{_OPEN}.presentation",
        ".otp": f"{_OPEN}.presentation-template",
    },
    "open_documents.parse_sheets": {
        ".ods": f"{_OPEN}.spreadsheet",
        ".ots": f"{_OPEN}.spreadsheet-template",
    },
    "open_documents.parse_flat": {
        ".fodt": f"{_OPEN}.text-flat-xml",
        ".fodp": f"{_OPEN}.presentation-flat-xml",
        ".fods": f"{_OPEN}.spreadsheet-flat-xml",
    },
}
"""The endings that a parser reads, with their media types."""


class Parser(NamedTuple):
    """A function of a module, which is imported when it is called."""

    module: str
    function: str

    def __call__(self, content: bytes, options: FileOptions) -> ParsedFile:
        parse = getattr(importlib.import_module(self.module), self.function)
        parsed: ParsedFile = parse(content, options)
        return parsed


class FileFormat(NamedTuple):
    """How files are parsed, the media type of a translation, and the ending of its name."""

    parse: Parser
    media_type: str
    suffix: str

    @property
    def is_text(self) -> bool:
        """Whether files can be read without a program, as archives cannot."""
        return not self.media_type.startswith(("application/vnd.", "application/epub"))


def _formats() -> dict[str, FileFormat]:
    known: list[tuple[tuple[str, ...], str, str]] = [
        ((".txt",), "plain.parse_text", "text/plain"),
        ((".md", ".markdown", ".qmd", ".rmd"), "markdown.parse", "text/markdown"),
        ((".mdx",), "markdown.parse_mdx", "text/markdown"),
        ((".rst",), "rst.parse", "text/x-rst"),
        ((".adoc", ".asciidoc", ".asc"), "asciidoc.parse", "text/asciidoc"),
        ((".tex", ".ltx"), "latex.parse", "application/x-tex"),
        ((".ipynb",), "notebooks.parse_notebook", "application/x-ipynb+json"),
        ((".html", ".htm", ".xhtml"), "pages.parse_html", "text/html"),
        ((".svg",), "pages.parse_svg", "image/svg+xml"),
        ((".eml",), "mail.parse", "message/rfc822"),
        ((".mht", ".mhtml"), "mail.parse", "multipart/related"),
        ((".srt",), "subtitles.parse_srt", "application/x-subrip"),
        ((".vtt",), "subtitles.parse_vtt", "text/vtt"),
        ((".ass", ".ssa"), "substation.parse", "text/x-ssa"),
        ((".po", ".pot"), "catalogues.parse_po", "text/x-gettext-translation"),
        (
            (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"),
            "xml_catalogues.parse_xliff",
            "application/xliff+xml",
        ),
        ((".xml",), "android.parse", "application/xml"),
        ((".resx", ".resw"), "resx.parse", "application/xml"),
        ((".ts",), "xml_catalogues.parse_qt", "application/x-linguist"),
        ((".json", ".arb"), "catalogues.parse_json", "application/json"),
        ((".yml", ".yaml"), "yaml_catalogues.parse", "application/yaml"),
        ((".toml",), "toml_catalogues.parse", "application/toml"),
        ((".strings",), "apple_strings.parse", "text/plain"),
        ((".stringsdict",), "strings_dictionary.parse", "application/xml"),
        ((".xcstrings",), "string_catalogues.parse", "application/json"),
        ((".ftl",), "fluent.parse", "text/plain"),
        ((".properties",), "catalogues.parse_properties", "text/plain"),
        ((".csv",), "tables.parse_csv", "text/csv"),
        ((".tsv",), "tables.parse_tsv", "text/tab-separated-values"),
        ((".epub",), "pages.parse_epub", "application/epub+zip"),
    ]
    formats = {
        suffix: FileFormat(_parser(parse), media_type, suffix)
        for suffixes, parse, media_type in known
        for suffix in suffixes
    }
    formats |= {
        suffix: FileFormat(_parser(parse), media_type, suffix)
        for parse, media_types in _PROGRAMS.items()
        for suffix, media_type in media_types.items()
    }
    return {**formats, ".pdf": FileFormat(_parser("plain.parse_pdf"), "text/plain", ".txt")}


def _parser(name: str) -> Parser:
    module, _, function = name.partition(".")
    return Parser(f"{__package__}.{module}", function)


FORMATS: Mapping[str, FileFormat] = _formats()
MODULES = sorted({known.parse.module for known in FORMATS.values()})
"""The modules of all formats."""
SAVE_AS: Mapping[str, str] = {
    **dict.fromkeys((".doc", ".dot", ".rtf", ".pages", ".wps"), ".docx"),
    **dict.fromkeys((".ppt", ".pps", ".key"), ".pptx"),
    ".msg": ".eml",
    **dict.fromkeys((".xls", ".xlt", ".xlsb", ".numbers"), ".xlsx"),
}
"""The endings of formats that are not read, with what their programs can save a file as."""


def format_of(name: str) -> FileFormat:
    """The format of a file by its name. Raises UnsupportedFile."""
    _, dot, ending = name.lower().rpartition(".")
    found = FORMATS.get(dot + ending)
    if other := SAVE_AS.get(dot + ending):
        raise UnsupportedFile(f"{dot + ending} files are not read; save {shown(name)} as {other}")
    if found is None:
        raise UnsupportedFile(f"the file must be {', '.join(FORMATS)}; got {shown(name)}")
    return found


def parse_file(content: bytes, name: str, options: FileOptions) -> ParsedFile:
    """Raises UnsupportedFile, InvalidDocument or DocumentTooLarge."""
    try:
        return format_of(name).parse(content, options)
    except RecursionError:
        raise InvalidDocument("the file is nested too deeply") from None
