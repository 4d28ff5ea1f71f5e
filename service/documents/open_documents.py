"""ODT, ODP and ODS, and FODT, FODP and FODS: the paragraphs of OpenDocument."""

from __future__ import annotations

import functools
import html
import itertools
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator

import regex

from service.documents.archive import (
    PROTECTED,
    Archive,
    ArchiveFile,
    language_edits,
    properties_of,
    texts_of,
    title_places,
)
from service.documents.labels import LabelledText, Labels
from service.documents.locales import is_asian, locale_of
from service.documents.lookups import Lookups, calc_lookups
from service.documents.namespaces import with_usual_prefixes
from service.documents.ranges import pairs_of_codes, range_tag
from service.documents.segments import Edit, FileOptions, Place, Segment, TextFile, decode_unicode
from service.documents.xml_text import InlineContent, Role, XmlText, read_xml
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters
from service.translation.markup.elements import SIGN_FONTS

_CONTENT, _STYLES, _TYPE = "content.xml", "styles.xml", "mimetype"
_MANIFEST = "META-INF/manifest.xml"
_TEXT_LANGUAGE = regex.compile(r"""\sfo:(language|country)="([^"]++)\"""")
_TEXT_ASIAN_LANGUAGE = regex.compile(r"""\sstyle:(language|country)-asian="([^"]++)\"""")
_PARAGRAPHS = frozenset(
    {
        *("text:p", "text:h", "text:index-title-template"),
        *("presentation:header-decl", "presentation:footer-decl"),
    }
)
_PAIRS = frozenset(
    {
        *("text:span", "text:a", "text:meta", "text:meta-field", "text:text-input"),
    }
)
_SPAN, _RUBY = "<text:span", "text:ruby"
_CONTROL, _CHOICE = "loext:content-control", frozenset({"loext:list-item"})
_CELLS = frozenset({"table:table-cell", "table:covered-table-cell"})
_ONE = (None, "1")
_FORMULA, _VALUE, _STRING = "table:formula", "office:value-type", "string"
_STRING_VALUE = regex.compile(r"""\soffice:string-value=(?:"[^"]*+"|'[^']*+')""")
_RESULT = regex.compile(r"""\s(?:(?:office|calcext):value-type|office:string-value)="[^"]*+\"""")
_FRAMES, _CLASS = frozenset({"draw:frame", "draw:custom-shape"}), "presentation:class"
_LABELS = Labels(
    regex.compile(
        r"<(?:svg:(?:title|desc)|text:placeholder\s[^<>]*+)>[^<]++"
        r"|<(?:table:(?:help|error)-message|form:(?!option|item)[\w-]++)\s[^<>]++>"
        r"|<(?:loext:list-item|text:label)\s[^<>]++>(?:(?:<text:span\s[^<>]++>)?+[^<>]++"
        r"(?=(?:</text:span>)?+</(?:loext:content-control|text:drop-down)>))?+"
    ),
    regex.compile(
        r"(?P<name>(?P<head>>(?:&lt;)?+)(?P<value>(?:(?!&gt;\Z)[^<])++)(?P<tail>(?:&gt;)?+)"
        r"|(?P<head>\s(?:table:title|form:(?:label|title)|loext:display-text"
        r'|text:(?:value|description))=")(?P<value>[^"]*+)(?P<tail>"))'
    ),
    {},
)
"""Alternative texts, titles of prompts, placeholders such as `<Name>`, the choices of a list in a
text with the chosen one, and labels of controls, but not of their choices, which programs
compare."""
_TEXT_SCRIPT = regex.compile(
    r"""<style:style\s[^<>]*?style:name="([^"]++)"[^<>]*+>\s*+"""
    r"""<style:text-properties\s[^<>]*?style:text-position="(?:su|-?[1-9])"""
)
_SIGN_STYLE = regex.compile(
    r"""<style:style(?>[^<>]*?\sstyle:name=")([^"]++)"[^<>]*+>\s*+<style:text-properties"""
    rf"""(?>[^<>]*?\s(?:style:font-name|fo:font-family)=["'])(?:&apos;)?(?i:{SIGN_FONTS})"""
)
_LEVELS = frozenset({"text:list-level-style-number", "text:outline-level-style"})
_FORMAT, _PREFIX, _SUFFIX = "loext:num-list-format", "style:num-prefix", "style:num-suffix"
_NUMBER = regex.compile(r"%(\d{1,2})%?")
_ASIAN_NUMBERS = regex.compile(r'(?<=\sstyle:num-format=")[^"]*?\p{Han}[^"]*+')
_DELETED = frozenset({"text:deletion", "table:deletion", "table:previous"})
"""What tracked changes took out, and what stood in a cell before."""
_FLAT, _MASTERS = frozenset({"office:document"}), frozenset({"office:master-styles"})
_SHEETS = "spreadsheet"
_STOPS = frozenset({"text:tab", "text:line-break"})


def parse_text(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODT: the document, and the headers and footers of its styles."""
    return _parsed(_open(content, "an ODT", b"text"), options, _places)


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODP: slides, their notes, and what masters show themselves; their prompts stay."""
    return _parsed(_open(content, "an ODP", b"presentation"), options, _master_places)


def parse_sheets(content: bytes, options: FileOptions) -> ArchiveFile:
    """ODS: the texts of cells, comments, prompts, headers and footers. Formulas, numbers, dates
    and the names of sheets stay, and what the tables look for. Results of formulas are made anew
    by the program that opens the file, and it reads the others in the paragraphs."""
    return _parsed(_open(content, "an ODS", b"spreadsheet"), options, _places, _results)


def parse_flat(content: bytes, options: FileOptions) -> TextFile:
    """FODT, FODP and FODS: all parts of a document in one file of XML."""
    xml = read_xml(content)
    root = next(iter(xml.starts(_FLAT)), None)
    if root is None:
        raise InvalidDocument("the file is not flat OpenDocument: it has no office:document")
    lookups = calc_lookups(xml.source)
    masters = _inside(xml, xml.starts(_MASTERS))
    prompts = _prompts(xml) & masters
    places = [*_content_places(lookups, xml, prompts), *title_places(xml)]
    edits = [*_marks(options.target, xml), *language_edits(locale_of(options.target), xml)]
    if _SHEETS in (xml.attribute(root, "office:mimetype") or ""):
        edits += _results(lookups, xml)
    return LabelledText(xml.decoded, places, edits, _LABELS)


def _open(content: bytes, kind: str, media_type: bytes) -> Archive:
    archive = Archive(content, kind)
    if _MANIFEST in archive.names and archive.has_inside(_MANIFEST, b"encryption-data"):
        raise InvalidDocument(PROTECTED)
    archive.require(_CONTENT)
    if _TYPE in archive.names and not archive.has_inside(_TYPE, b"opendocument." + media_type):
        raise InvalidDocument(f"the file is not {kind} file, as its mimetype says")
    return archive


def _parsed(
    archive: Archive,
    options: FileOptions,
    style_places: Callable[[XmlText], Iterable[Place]],
    edits_of: Callable[[Lookups, XmlText], Iterable[Edit]] = lambda *_: (),
) -> ArchiveFile:
    """`edits_of`: changes of the content, whatever is translated."""
    contents = [name for name in archive.names if posixpath.basename(name) == _CONTENT]
    content = with_usual_prefixes(decode_unicode(archive.unpacked(_CONTENT)))
    lookups = calc_lookups(content.text)
    languages = functools.partial(_marks, options.target)
    places = functools.partial(_content_places, lookups)

    def edits(xml: XmlText) -> Iterator[Edit]:
        return itertools.chain(languages(xml), edits_of(lookups, xml))

    made = functools.partial(LabelledText, known=_LABELS)
    texts = texts_of(archive, contents, places, edits, made)
    styles = texts_of(archive, [_STYLES], style_places, languages, made)
    properties = properties_of(archive, ["meta.xml"], locale_of(options.target))
    return ArchiveFile(archive, {**texts, **styles, **properties})


def _marks(target: str, xml: XmlText) -> Iterator[Edit]:
    """The language and country of styles, and numbers that readers of the target know."""
    if not is_asian(target):
        yield from (Edit(*match.span(), "1") for match in _ASIAN_NUMBERS.finditer(xml.source))
    values = dict(zip(("language", "country"), locale_of(target).split("-"), strict=True))
    pattern = _TEXT_ASIAN_LANGUAGE if is_asian(target) else _TEXT_LANGUAGE
    for match in pattern.finditer(xml.source):
        yield Edit(*match.span(2), values[match[1]])


def _results(lookups: Lookups, xml: XmlText) -> Iterator[Edit]:
    """Formulas without the texts that they had as results, and texts without what programs show in
    their place."""
    for cell in xml.starts(_CELLS):
        if xml.attribute(cell, _VALUE) != _STRING:
            continue
        own, is_result = _own_paragraphs(xml, cell), xml.attribute(cell, _FORMULA) is not None
        if is_result:
            yield from (xml.removed(child) for child in own)
        elif not own or _is_looked_for(lookups, xml, own):
            continue
        token, pattern = xml.tokens[cell], _RESULT if is_result else _STRING_VALUE
        for match in pattern.finditer(xml.source, token.start, token.end):
            yield Edit(*match.span(), "")


def _is_looked_for(lookups: Lookups, xml: XmlText, own: Iterable[int]) -> bool:
    """Whether tables look for the text of a cell with these paragraphs."""
    return lookups.keeps(" ".join(map(xml.text, own)))


def _own_paragraphs(xml: XmlText, cell: int) -> list[int]:
    """The paragraphs of a cell's value: not those of its comment."""
    return [child for child in xml.children(cell) if xml.tokens[child].name in _PARAGRAPHS]


def _content_places(
    lookups: Lookups, xml: XmlText, others: Collection[int] = ()
) -> Iterator[Place]:
    """The places of paragraphs but for numbers, results, what tables look for, and others."""
    kept = set(others)
    for cell in xml.starts(_CELLS):
        own = _own_paragraphs(xml, cell)
        is_text = xml.attribute(cell, _VALUE) in (None, _STRING)
        is_result = not is_text or xml.attribute(cell, _FORMULA) is not None
        if is_result or _is_looked_for(lookups, xml, own):
            kept.update(own)
    return _places(xml, kept)


def _master_places(xml: XmlText) -> Iterator[Place]:
    """What every slide shows."""
    return _places(xml, _prompts(xml))


def _prompts(xml: XmlText) -> set[int]:
    """The tokens of placeholders, which prompt in a master."""
    return _inside(
        xml, (frame for frame in xml.starts(_FRAMES) if xml.attribute(frame, _CLASS) is not None)
    )


def _inside(xml: XmlText, elements: Iterable[int]) -> set[int]:
    """The tokens of these elements."""
    ranges = (range(element, xml.end_of(element)) for element in elements)
    return set(itertools.chain.from_iterable(ranges))


def _level_places(xml: XmlText) -> Iterator[Place]:
    """The words around the numbers of paragraphs, such as `Chapter %1`: as a whole, and as what is
    before and after the numbers for older programs."""
    for index in xml.starts(_LEVELS):
        found = {name: xml.attribute(index, name) for name in (_FORMAT, _PREFIX, _SUFFIX)}
        number = f"%{xml.attribute(index, 'text:level')}%"
        whole = html.unescape(
            found[_FORMAT] or f"{found[_PREFIX] or ''}{number}{found[_SUFFIX] or ''}"
        )
        text = _NUMBER.sub(r"%\1", whole)
        is_read = text != whole and _NUMBER.sub(r"%\1%", text) == whole
        for name, value in found.items():
            if value is not None and is_read and has_letters(text):
                start, end, _ = xml.with_attribute(index, name, value)
                yield Place(start, end, Segment(text), functools.partial(_level, name, text, value))


def _level(name: str, text: str, value: str, translation: str) -> str:
    """What an attribute is with the translation, which must have the numbers of the text."""
    numbers = _NUMBER.findall(translation)
    if sorted(numbers) != sorted(_NUMBER.findall(text)):
        return value
    before, *_, after = _NUMBER.sub("%", translation).split("%")
    whole = _NUMBER.sub(r"%\1%", translation)
    return html.escape({_FORMAT: whole, _PREFIX: before, _SUFFIX: after}[name])


def _places(xml: XmlText, kept: Collection[int] = ()) -> Iterator[Place]:
    scripts, signs = (set(p.findall(xml.source)) for p in (_TEXT_SCRIPT, _SIGN_STYLE))

    def role(index: int) -> Role:
        name = xml.tokens[index].name
        if name == "text:s" and xml.attribute(index, "text:c") in _ONE:
            return "space"
        if name in _STOPS or name == "text:s":
            return "stop"
        style = xml.attribute(index, "text:style-name") if name == "text:span" else None
        if style in scripts:
            return "script"
        if style in signs:
            return "single"
        if name == _RUBY:
            return "base"
        is_pair = name in _PAIRS or (name == _CONTROL and not xml.has_inside(index, _CHOICE))
        return "pair" if is_pair else "single"

    codes = pairs_of_codes(xml, range_tag)
    content = InlineContent(xml, _PARAGRAPHS, role, codes, looks=_SPAN)
    yield from _level_places(xml)
    stays = _inside(xml, xml.starts(_DELETED)).union(kept)
    for index in xml.starts(_PARAGRAPHS):
        if index not in stays:
            yield from content.places(index)
