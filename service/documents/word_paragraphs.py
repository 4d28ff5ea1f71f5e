"""The paragraphs of DOCX: runs, links, fields, content controls and ranges as the parts of a
text."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.documents.ranges import pairs_among
from service.documents.runs import RunNames, RunPart, paragraph_places
from service.documents.segments import Place
from service.documents.xml_text import XmlText
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Text

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
_PAGES = regex.compile(
    r"<w:instrText(?:\s[^<>]*+)?>\s*+(PAGE|NUMPAGES|SECTIONPAGES)\b[^<]*+</w:instrText>"
)
"""The code of a field that counts pages."""
_MAX_FIELDS = 50
"""The levels of fields within fields of a paragraph: the time to read them grows with each."""
_SEPARATOR = '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
_FIELD = regex.compile(r'<w:fldChar\s[^<>]*?w:fldCharType="(begin|separate|end)"')
WORD = RunNames(
    "w:r",
    "w:t",
    regex.compile(r"<w:(?:lang(?:\s[^<>/]*+)?|noProof\s*+|rFonts w:hint=\"\w*+\"\s*+)/>"),
)


def word_places(
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


class _Unit(NamedTuple):
    """An element of a paragraph, or a part of a run with these properties."""

    element: int
    properties: str | None = None


def _word_parts(xml: XmlText, elements: Iterable[int]) -> Iterator[RunPart]:
    """The parts of runs, links and the like, with fields as codes or as pairs around a result, and
    ranges as pairs."""
    yield from _unit_parts(xml, [unit for element in elements for unit in _units(xml, element)])


def _units(xml: XmlText, element: int) -> Iterator[_Unit]:
    """An element, or the parts of a run in which a field begins or ends beside others."""
    inner = [*xml.children(element)] if xml.tokens[element].name == "w:r" else []
    properties = _properties(xml, inner)
    shown = inner[1:] if properties else inner
    if len(shown) > 1 and any(xml.tokens[child].name == "w:fldchar" for child in shown):
        yield from (_Unit(child, properties) for child in shown)
    else:
        yield _Unit(element)


def _unit_parts(xml: XmlText, units: Sequence[_Unit]) -> Iterator[RunPart]:
    written = [_written_unit(xml, unit) for unit in units]
    fields, alone = _find_fields(written)
    ranges = pairs_among(xml, (unit.element for unit in _outside(fields, units)))
    number = 0
    while number < len(units):
        index = units[number].element
        end, separator = fields.get(number, (number, None))
        if separator is not None and _MERGED.search("".join(written[number:separator])):
            result = "".join(_WORD_TEXT.findall("".join(written[separator:end])))
            yield RunPart("word", "".join(written[number : end + 1]), text=html.unescape(result))
        elif separator is not None and separator + 1 < end:
            opening = "".join(written[number : separator + 1])
            yield RunPart("open", opening, closing=written[end])
            yield from _unit_parts(xml, units[separator + 1 : end])
            yield RunPart("close")
        elif number in fields:
            yield from _field(written[number : end + 1], has_result=separator is not None)
        elif number in alone:
            yield RunPart("stop", written[number])
        elif (other := ranges.get(index)) is not None:
            closing = xml.element(other)
            yield RunPart("open" if index < other else "close", written[number], closing=closing)
        else:
            yield from _word_element(xml, units[number])
        number = end + 1


def _field(runs: Sequence[str], *, has_result: bool) -> Iterator[RunPart]:
    """A field whose result is not written. One that counts pages, without a field in its code,
    gets a number, with which the sentence is read."""
    opening = "".join(runs[:-1]) + ("" if has_result else _SEPARATOR)
    is_whole = opening.count("<w:fldChar ") == 2
    if is_whole and (page := _PAGES.search(opening)):
        yield RunPart("open", opening, closing=runs[-1])
        yield RunPart("text", "1" if page[1] == "PAGE" else "2")
        yield RunPart("close")
    else:
        yield RunPart("single", "".join(runs))


def _written_unit(xml: XmlText, unit: _Unit) -> str:
    written = _written(xml, unit.element)
    return written if unit.properties is None else f"<w:r>{unit.properties}{written}</w:r>"


def _outside(
    fields: Mapping[int, tuple[int, int | None]], units: Sequence[_Unit]
) -> Iterator[_Unit]:
    """The units that are not in one of the fields, which are known by their numbers."""
    number = 0
    while number < len(units):
        yield units[number]
        number = fields.get(number, (number, None))[0] + 1


def _find_fields(runs: Sequence[str]) -> tuple[dict[int, tuple[int, int | None]], set[int]]:
    """Complex fields, whose code and result stand in runs side by side: the run where each begins,
    with its last run and the run before its result, if any. Runs of fields that go on in another
    paragraph keep their places. Linear time. Raises InvalidDocument."""
    fields: dict[int, tuple[int, int | None]] = {}
    alone: set[int] = set()
    opened: list[tuple[int, int | None]] = []
    for index, run in enumerate(runs):
        mark = _FIELD.search(run) if run.startswith("<w:r") else None
        if len(opened) > _MAX_FIELDS:
            raise InvalidDocument(f"a paragraph's fields are nested deeper than {_MAX_FIELDS}")
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


def _word_element(xml: XmlText, unit: _Unit) -> Iterator[RunPart]:
    index, name = unit.element, xml.tokens[unit.element].name
    if unit.properties is not None:
        yield from _run_part(xml, index, unit.properties)
    elif name == "w:r":
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
    inner = [*xml.children(index)]
    properties = _properties(xml, inner)
    for child in inner[1:] if properties else inner:
        yield from _run_part(xml, child, properties)


def _properties(xml: XmlText, inner: Sequence[int]) -> str:
    """The properties of a run with these elements."""
    return xml.element(inner[0]) if inner and xml.tokens[inner[0]].name == "w:rpr" else ""


def _run_part(xml: XmlText, index: int, properties: str) -> Iterator[RunPart]:
    name = xml.tokens[index].name
    if name == "w:t":
        yield RunPart("text", xml.text(index), properties)
    elif name == "w:ruby":
        yield from _word_ruby(xml, index, properties)
    elif name == "w:nobreakhyphen":
        yield RunPart("text", "\u2011", properties)
    elif name not in _UNSEEN:
        code = f"<w:r>{properties}{_written(xml, index)}</w:r>"
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
