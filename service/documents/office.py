"""DOCX and PPTX: the paragraphs of Office Open XML."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import regex

from service.documents.archive import ArchiveFile, MemberText, no_places, texts_of
from service.documents.labels import LabelledText, Labels, labels
from service.documents.locales import is_asian, locale_of
from service.documents.mail import parse as parse_mail
from service.documents.packages import DRAWINGS, LABELLED, PICTURES, Package
from service.documents.pages import parse_html
from service.documents.runs import DRAWING, RunNames, drawing_places
from service.documents.segments import Edit, FileOptions, Place, TextFile
from service.documents.word_paragraphs import WORD, word_places
from service.documents.xml_text import InlineContent, XmlText

_WORD_MAIN = r"(?:wordprocessingml|ms-word)\.[\w.]*main"
_WORD_TEXTS = (
    rf"{_WORD_MAIN}|wordprocessingml\."
    r"(?:header|footer|footnotes|endnotes|comments|document\.glossary)"
)
"""The glossary has prompts of controls and building blocks."""
_IMPORTED: Mapping[str, Callable[[bytes, FileOptions], MemberText]] = MappingProxyType(
    {"text/html": parse_html, "application/xhtml+xml": parse_html, "message/rfc822": parse_mail}
)
"""The types of pages that Word reads as a part of the text, as programs write that have HTML."""
_WORD_STYLES = r"wordprocessingml\.styles"
_WORD_LABELS = labels(
    rf"{PICTURES[0]}|w:(?:tblCaption|tblDescription|hyperlink|listItem|listEntry)|v:\w+",
    rf"{PICTURES[1]}|alt|string|w:val|w:tooltip|w:displayText"
    r"|w:value(?![^<>]*\sw:displayText=)(?<!\sw:displayText=[^<>]*)",
)
_WORD_NUMBERING = r"wordprocessingml\.numbering"
_LEVELS = Labels(
    regex.compile(r"<w:lvlText\s[^<>]++>"),
    regex.compile(r'(?P<head>\s(?P<name>w:val)=")(?P<value>[^"]{2,}+)(?P<tail>")'),
    {},
)
"""What numbered paragraphs begin with, such as `Chapter %1`: not bullets, which are letters of
fonts with signs."""
_ASIAN_NUMBERS = regex.compile(
    r'(?<=<w:numFmt\s(?:[^<>]*\s)?w:val=")(?:chinese|taiwanese|japanese|korean|ideograph)\w++'
)
_WORD_LANGUAGE = regex.compile(r"""(?<=<w:lang\s(?:[^<>]*\s)?w:val=")[^"]*+""")
_WORD_LANGUAGES = regex.compile(r"""(?<=<w:lang\s(?:[^<>]*\s)?w:(?:val|eastAsia)=")[^"]*+""")
_SLIDE_MAIN = r"(?:presentationml|ms-powerpoint)\.[\w.]*main"
_SLIDES = (
    r"presentationml\.(?:slide|notesSlide|comments|handoutMaster)|ms-powerpoint\.comments"
    rf"|{DRAWINGS}"
)
"""The placeholders of handouts are printed as they stand."""
_MASTERS = r"presentationml\.(?:slideLayout|slideMaster|notesMaster)"
_SHAPES = frozenset({"p:sp", "p:pic", "p:graphicframe"})
_PLACEHOLDER, _COMMENT = frozenset({"p:ph"}), frozenset({"p:text"})
_CONTROL = regex.compile(r"<w:sdtPr>(?:(?!<w:sdtPr>).)*?</w:sdtPr>", regex.DOTALL)
_OTHER_CONTROL = regex.compile(r"<w:(?:date|picture)\b|<w14:checkbox\b")
_BINDING = regex.compile(r"<w(?:15)?:dataBinding\b[^<>]*+(?:(?<=/)>|>\s*+</w(?:15)?:dataBinding>)")
_DRAWING_LANGUAGE = regex.compile(r"""(?<=<a:rPr\s(?:[^<>]*\s)?lang=["'])[^"']*+""")


def parse_word(content: bytes, options: FileOptions) -> ArchiveFile:
    """DOCX: the text, pages that it imports, headers, footers, notes, comments, text boxes,
    alternative texts, prompts and choices of lists; macros, embedded files and pictures stay."""
    package = Package(content, "a DOCX", _WORD_MAIN)
    language = _WORD_LANGUAGES if is_asian(options.target) else _WORD_LANGUAGE
    locale = locale_of(options.target)
    names = dataclasses.replace(WORD, mark=functools.partial(language.sub, locale))
    made = functools.partial(LabelledText, known=_WORD_LABELS, finish=_unbound)
    drawings = functools.partial(drawing_places, _drawing(locale))
    places = functools.partial(word_places, names, drawings)
    texts = texts_of(package, package.parts(_WORD_TEXTS), places, made=made)
    marks = functools.partial(_marked, language, locale)
    styles = texts_of(package, package.parts(_WORD_STYLES), no_places, marks)
    drawn = texts_of(package, package.parts(DRAWINGS), drawings, made=LABELLED)
    others = {**_imported(package, options), **package.properties(locale)}
    return ArchiveFile(
        package, {**texts, **styles, **_numbering(package, options), **drawn, **others}
    )


def _numbering(package: Package, options: FileOptions) -> dict[str, TextFile]:
    """The words around the numbers of paragraphs."""
    numbers = functools.partial(_decimals, options.target)
    made = functools.partial(LabelledText, known=_LEVELS)
    return texts_of(package, package.parts(_WORD_NUMBERING), no_places, numbers, made)


def _decimals(target: str, xml: XmlText) -> Iterator[Edit]:
    """Numbers such as 一, for readers who do not know them."""
    return iter(()) if is_asian(target) else _marked(_ASIAN_NUMBERS, "decimal", xml)


def _imported(package: Package, options: FileOptions) -> dict[str, MemberText]:
    """The pages that a document imports."""
    types = {name: package.type_of(name) for name in package.names}
    return {
        name: _IMPORTED[kind](package.read(name), options)
        for name, kind in types.items()
        if kind in _IMPORTED
    }


def _unbound(written: str) -> str:
    """Controls without what binds their texts to other parts, which have the source's."""
    return _CONTROL.sub(
        lambda head: head[0] if _OTHER_CONTROL.search(head[0]) else _BINDING.sub("", head[0]),
        written,
    )


def parse_slides(content: bytes, options: FileOptions) -> ArchiveFile:
    """PPTX: slides, their notes, comments, diagrams and charts, and what layouts and masters show
    themselves; their prompts and media stay."""
    package = Package(content, "a PPTX", _SLIDE_MAIN)
    locale = locale_of(options.target)
    names = _drawing(locale)
    slides = functools.partial(_slide_places, names)
    masters = functools.partial(_master_places, names)
    texts = texts_of(package, package.parts(_SLIDES), slides, made=LABELLED)
    shown = texts_of(package, package.parts(_MASTERS), masters, made=LABELLED)
    return ArchiveFile(package, {**texts, **shown, **package.properties(locale)})


def _slide_places(names: RunNames, xml: XmlText) -> Iterator[Place]:
    yield from drawing_places(names, xml)
    for index in xml.starts(_COMMENT):
        yield from InlineContent(xml).places(index, keeps_lines=True)


def _master_places(names: RunNames, xml: XmlText) -> Iterator[Place]:
    """What every slide shows: not the prompts of placeholders."""
    prompts = [shape for shape in xml.starts(_SHAPES) if xml.has_inside(shape, _PLACEHOLDER)]
    starts = [xml.tokens[shape].start for shape in prompts]
    ends = [xml.tokens[xml.end_of(shape) - 1].end for shape in prompts]
    for place in drawing_places(names, xml):
        before = bisect.bisect_right(starts, place.start)
        if not before or place.start >= ends[before - 1]:
            yield place


def _drawing(locale: str) -> RunNames:
    return dataclasses.replace(DRAWING, mark=functools.partial(_DRAWING_LANGUAGE.sub, locale))


def _marked(pattern: regex.Pattern[str], value: str, xml: XmlText) -> Iterator[Edit]:
    """What a pattern finds becomes this value, such as the language of styles. Runs have their
    own."""
    return (Edit(*match.span(), value) for match in pattern.finditer(xml.source))
