"""DOCX and PPTX: the paragraphs of Office Open XML."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import regex

from model.text.spans import Span
from service.documents.archive import ArchiveFile, MemberText, no_places, texts_of
from service.documents.labels import LabelledText, Labels, labels
from service.documents.locales import is_asian, locale_of
from service.documents.mail import parse as parse_mail
from service.documents.packages import DRAWINGS, LABELLED, PICTURES, Package
from service.documents.pages import parse_html
from service.documents.ranges import pairs_among
from service.documents.runs import (
    DRAWING,
    RunNames,
    RunPart,
    drawing_places,
    paragraph_places,
)
from service.documents.segments import Edit, FileOptions, Place, TextFile
from service.documents.xml_text import InlineContent, XmlText
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Text

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
_WORD_PARAGRAPH = frozenset({"w:p"})
_ANY_PARAGRAPH = frozenset({"w:p", "a:p"})
"""Shapes that were copied from PowerPoint have theirs."""
_WRAPPERS = frozenset(
    {
        *("w:hyperlink", "w:ins", "w:moveto", "w:smarttag", "w:customxml"),
        *("w:fldsimple", "w:sdt", "w:dir", "w:bdo"),
    }
)
_HEADS = frozenset({"w:sdtpr", "w:sdtendpr", "w:smarttagpr", "w:customxmlpr", "w:sdtcontent"})
_CHOICES = frozenset({"w:dropdownlist", "w:combobox"})
_FRAME, _WORD_STRING = frozenset({"w:framepr"}), frozenset({"w:t"})
_DROPPED = regex.compile(r"<w:framePr\s[^<>]*?w:dropCap=[\"'](?!none)")
_FIRST = regex.compile(r"<w:t(?:\s[^<>]*+)?>\s*+((?:&\w++;|[^\w<&])*+\w)")
"""A frame around the large first letter of the next paragraph, and a text's first letter."""
_UNSEEN = frozenset({"w:prooferr", "w:lastrenderedpagebreak", "w:softhyphen"})
_WORD_STOPS = frozenset({"w:tab", "w:br", "w:cr", "w:ptab"})
_WORD_TEXT = regex.compile(r"<w:t(?:\s[^<>]*+)?>([^<]*+)")
_MERGED = regex.compile(r"""(?:<w:instrText(?:\s[^<>]*+)?>|\sw:instr=["'])\s*+MERGEFIELD\s""")
"""The code of a field whose result is a name in other data."""
_FIELD = regex.compile(r'<w:fldChar\s[^<>]*?w:fldCharType="(begin|separate|end)"')
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
    names = dataclasses.replace(_WORD, mark=functools.partial(language.sub, locale))
    made = functools.partial(LabelledText, known=_WORD_LABELS, finish=_unbound)
    drawings = functools.partial(drawing_places, _drawing(locale))
    places = functools.partial(_word_places, names, drawings)
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


_WORD = RunNames(
    "w:r",
    "w:t",
    regex.compile(r"<w:(?:lang(?:\s[^<>/]*+)?|noProof\s*+|rFonts w:hint=\"\w*+\"\s*+)/>"),
)


def _word_places(
    names: RunNames, drawings: Callable[[XmlText], Iterator[Place]], xml: XmlText
) -> Iterator[Place]:
    """What has paragraphs inside is a code of the text."""
    initial: Span | None = None
    for index in xml.starts(_WORD_PARAGRAPH):
        inner = [*xml.children(index)]
        if inner and xml.tokens[inner[0]].name == "w:ppr":
            del inner[0]
        parts = [*_word_parts(xml, inner)]
        if initial and parts and parts[0].kind == "text":
            letter = parts[0]._replace(written=xml.source[slice(*initial)])
            (place,) = paragraph_places(xml, inner, [letter, *parts], names)
            yield _after_initial(xml, initial, place)
            initial = None
        elif (initial := _initial(xml, index)) is None:
            yield from paragraph_places(xml, inner, parts, names)
    yield from drawings(xml)


def _initial(xml: XmlText, index: int) -> Span | None:
    """The text of a paragraph that is the large first letter of the next one."""
    if not xml.has_inside(index, _FRAME) or not _DROPPED.search(xml.element(index)):
        return None
    texts = [text for text in xml.inside(index, _WORD_STRING) if xml.text(text).strip()]
    if len(texts) != 1 or not has_letters(xml.text(texts[0])):
        return None
    return Span(xml.tokens[texts[0]].end, xml.tokens[xml.end_of(texts[0]) - 1].start)


def _after_initial(xml: XmlText, initial: Span, place: Place) -> Place:
    """The place of a paragraph with the letter before it, which becomes that of the translation."""

    def write(translation: Text) -> str:
        written = place.write(translation)
        between, first = xml.source[initial.end : place.start], _FIRST.search(written)
        if first is None:
            return between + written
        begin, rest = written[: first.start()], written[first.end() :]
        return f'{first[1]}{between}{begin}<w:t xml:space="preserve">{rest}'

    return place._replace(start=initial.start, write=write)


def _written(xml: XmlText, index: int) -> str:
    """An element as a code, in which paragraphs, such as those of a box, have places of their
    own."""
    has_places = xml.has_inside(index, _ANY_PARAGRAPH)
    return xml.as_inner(index) if has_places else xml.element(index)


def _word_parts(xml: XmlText, elements: Sequence[int]) -> Iterator[RunPart]:
    """The parts of runs, links and the like, with fields as codes or as pairs around a result, and
    ranges as pairs."""
    written = [_written(xml, element) for element in elements]
    fields, alone = _find_fields(written)
    ranges = pairs_among(xml, _outside(fields, elements))
    number = 0
    while number < len(elements):
        end, separator = fields.get(number, (number, None))
        if separator is not None and _MERGED.search("".join(written[number:separator])):
            result = "".join(_WORD_TEXT.findall("".join(written[separator:end])))
            yield RunPart("word", "".join(written[number : end + 1]), text=html.unescape(result))
        elif separator is not None:
            opening = "".join(written[number : separator + 1])
            yield RunPart("open", opening, closing=written[end])
            yield from _word_parts(xml, elements[separator + 1 : end])
            yield RunPart("close")
        elif number in fields:
            yield RunPart("single", "".join(written[number : end + 1]))
        elif number in alone:
            yield RunPart("stop", written[number])
        elif (other := ranges.get(elements[number])) is not None:
            is_first = elements[number] < other
            closing = xml.element(other)
            yield RunPart("open" if is_first else "close", written[number], closing=closing)
        else:
            yield from _word_element(xml, elements[number])
        number = end + 1


def _outside(
    fields: Mapping[int, tuple[int, int | None]], elements: Sequence[int]
) -> Iterator[int]:
    """The elements that are not in one of the fields, which are known by their numbers."""
    number = 0
    while number < len(elements):
        yield elements[number]
        number = fields.get(number, (number, None))[0] + 1


def _find_fields(runs: Sequence[str]) -> tuple[dict[int, tuple[int, int | None]], set[int]]:
    """Complex fields, whose code and result stand in runs side by side: the run where each begins,
    with its last run and the run before its result, if any. Runs of fields that go on in another
    paragraph keep their places. Linear time."""
    fields: dict[int, tuple[int, int | None]] = {}
    alone: set[int] = set()
    opened: list[tuple[int, int | None]] = []
    for index, run in enumerate(runs):
        mark = _FIELD.search(run) if run.startswith("<w:r") else None
        if mark and mark[1] == "begin":
            opened.append((index, None))
        elif mark and not opened:
            alone.add(index)
        elif mark and mark[1] == "separate":
            opened[-1] = (opened[-1][0], index)
        elif mark:
            begin, separator = opened.pop()
            fields[begin] = index, separator
    alone.update(number for field in opened for number in field if number is not None)
    return fields, alone


def _word_element(xml: XmlText, index: int) -> Iterator[RunPart]:
    name = xml.tokens[index].name
    if name == "w:r":
        yield from _word_run(xml, index)
    elif name == "w:fldsimple" and _MERGED.search(xml.written(index, index + 1)):
        result = "".join(_WORD_TEXT.findall(xml.element(index)))
        yield RunPart("word", xml.element(index), text=html.unescape(result))
    elif name in _WRAPPERS:
        yield from _word_wrapper(xml, index)
    elif name not in _UNSEEN:
        yield RunPart("single", _written(xml, index))


def _word_wrapper(xml: XmlText, index: int) -> Iterator[RunPart]:
    """A link or the like, with its head, around runs. The chosen text of a list is one by itself,
    so that it is translated as the list has it."""
    inner = [*xml.children(index)]
    first, last = index + 1, xml.end_of(index) - 1
    while inner and xml.tokens[inner[0]].name in _HEADS:
        head = inner[0]
        if xml.tokens[head].name == "w:sdtcontent":
            first, last = head + 1, xml.end_of(head) - 1
            inner = [*xml.children(head)]
            break
        first, inner = xml.end_of(head), inner[1:]
    opening, closing = xml.written(index, first), xml.written(last, xml.end_of(index))
    if not inner:
        yield RunPart("single", xml.element(index))
    elif xml.has_inside(index, _CHOICES):
        yield RunPart("stop", opening)
        yield from _word_parts(xml, inner)
        yield RunPart("stop", closing)
    else:
        yield RunPart("open", opening, closing=closing)
        yield from _word_parts(xml, inner)
        yield RunPart("close")


def _word_run(xml: XmlText, index: int) -> Iterator[RunPart]:
    properties = ""
    for child in xml.children(index):
        name = xml.tokens[child].name
        if name == "w:rpr":
            properties = xml.element(child)
        elif name == "w:t":
            yield RunPart("text", xml.text(child), properties)
        elif name == "w:ruby":
            yield from _word_ruby(xml, child, properties)
        elif name == "w:nobreakhyphen":
            yield RunPart("text", "\u2011", properties)
        elif name not in _UNSEEN:
            code = f"<w:r>{properties}{_written(xml, child)}</w:r>"
            yield RunPart("stop" if name in _WORD_STOPS else "single", code)


def _word_ruby(xml: XmlText, index: int, properties: str) -> Iterator[RunPart]:
    """A base with its annotation, which stays."""
    base = next(child for child in xml.children(index) if xml.tokens[child].name == "w:rubybase")
    if not any(xml.children(base)):
        yield RunPart("single", f"<w:r>{properties}{xml.element(index)}</w:r>")
        return
    closing = xml.written(xml.end_of(base) - 1, xml.end_of(index))
    opening = f"<w:r>{properties}{xml.written(index, base + 1)}"
    yield RunPart("open", opening, closing=f"{closing}</w:r>")
    yield from _word_parts(xml, [*xml.children(base)])
    yield RunPart("close")
