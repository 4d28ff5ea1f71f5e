"""XLIFF 1 and 2, and Qt Linguist's TS: translations are written from sources beside them."""

from __future__ import annotations

import bisect
import functools
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import regex

from service.documents.icu_messages import with_whole_sentences
from service.documents.ranges import pairs_of_codes
from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    is_date_pattern,
    is_worded,
)
from service.documents.xliff_codes import role_of, tag_of, with_escaped_tags
from service.documents.xml_text import InlineContent, XmlText, read_xml
from service.errors import InvalidDocument, shown
from service.translation.language.segmentation import has_letters
from service.translation.markup.choices import find_choices
from service.translation.markup.coded_text import Text
from service.translation.markup.elements import is_html
from service.translation.markup.scanner import Kind

if TYPE_CHECKING:
    from service.translation.job import TextFormat

_XLIFF, _FILE = frozenset({"xliff"}), frozenset({"file"})
_MARKS = frozenset({"mrk"})
_UNITS = frozenset({"trans-unit", "segment"})
_INHERITING = _UNITS | {"xliff", "file", "body", "group", "unit"}
_OLD_VERSIONS, _VERSIONS = ("1.0", "1.1", "1.2"), ("2.0", "2.1", "2.2")
_UNDONE = regex.compile(r"""(?<=\sstate\s*=\s*["'])(?:new|needs-translation|initial)(?=["'])""")
"""The states of a target, or of a segment in XLIFF 2, that is not translated yet."""
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_REFERENCE = regex.compile(r"&[^;&]++;")
_LINE_BREAK = regex.compile(r"(?<=\S)[ \t]*+[\n\r]\s*+(?=\S)")
_KEPT_SPACE = regex.compile(r"[\n\r\t]| {2}")
_TS, _MESSAGE = frozenset({"ts"}), frozenset({"message"})
_TRANSLATION = frozenset({"translation"})
_GONE = ("obsolete", "vanished")


def parse_xliff(content: bytes, options: FileOptions) -> TextFile:
    """Units and segments that are not translated, by what their target has or their state says;
    with `replaces` all. Those with `translate="no"` stay. Inline elements are codes.

    Raises InvalidDocument also if translations that stay are in another language.
    """
    xml = with_escaped_tags(read_xml(content))
    root = next(iter(xml.starts(_XLIFF)), None)
    version = _version(xml, root) if root is not None else ""
    if root is None or version not in _OLD_VERSIONS + _VERSIONS:
        versions = " or ".join(_OLD_VERSIONS + _VERSIONS)
        raise InvalidDocument(f"the file is not XLIFF of version {versions}")
    units = _Units(xml, options)
    found = list(units.found())
    tags, name = [root], "trgLang"
    if version in _OLD_VERSIONS:
        tags, name = xml.starts(_FILE), "target-language"
    edits = [one for one in found if isinstance(one, Edit)]
    edits += _language_edits(xml, tags, name, options.target, units.translated)
    return TextFile(xml.decoded, (one for one in found if isinstance(one, Place)), edits)


def _version(xml: XmlText, root: int) -> str:
    """Of the attribute, or else of the namespace."""
    namespace = xml.attribute(root, "xmlns") or ""
    return xml.attribute(root, "version") or namespace.rpartition(":")[2]


def parse_qt(content: bytes, options: FileOptions) -> TextFile:
    """Messages without a translation, or with `replaces` all. What was `unfinished` stays so, for
    a person to look at; obsolete messages stay. The language is the target's, unless translations
    stay."""
    roots = []
    if b"<" in content[:4]:  # TypeScript has this ending, too
        xml = read_xml(content)
        roots = xml.starts(_TS)[:1]
    if not roots:
        raise InvalidDocument("the file is not a TS file of Qt Linguist")
    places = [p for message in xml.starts(_MESSAGE) for p in _message_places(xml, message, options)]
    is_begun = not options.replaces and any(
        xml.text(index).strip() for index in xml.starts(_TRANSLATION)
    )
    tags = [root for root in roots if not is_begun or xml.attribute(root, "language") is None]
    edits = _language_edits(xml, tags, "language", options.target)
    return TextFile(xml.decoded, places, edits)


def _language_edits(
    xml: XmlText, tags: Sequence[int], name: str, target: str, translated: Sequence[int] = ()
) -> Iterator[Edit]:
    """Name the target's language in the tags. Raises InvalidDocument if one with another language
    has a unit that is `translated` inside."""
    from model.text.tags import nearest  # langcodes takes 25 ms to import

    for tag in tags:
        named = xml.attribute(tag, name) or ""
        if nearest(named.replace("_", "-"), [target]):
            continue
        first = bisect.bisect_right(translated, tag)
        if named and any(unit < xml.end_of(tag) for unit in translated[first : first + 1]):
            raise InvalidDocument(
                f"the target must be the language of the file's translations, {shown(named)}, "
                f"unless they are replaced; got {shown(target)}"
            )
        yield xml.with_attribute(tag, name, target)


class _Filling(NamedTuple):
    """An element whose content is translated, what that replaces, and what is written after it."""

    content: int
    opening: Edit
    closing: str


class _Units:
    """The units of an XLIFF file. `translated`: of those found, the ones that stay in words."""

    def __init__(self, xml: XmlText, options: FileOptions) -> None:
        self._xml, self._replaces = xml, options.replaces
        role = functools.partial(role_of, xml)
        self._content = InlineContent(xml, role_of=role, codes=pairs_of_codes(xml, tag_of))
        self.translated: list[int] = []

    def found(self) -> Iterator[Place | Edit]:
        """What is to be filled in. An attribute of an element wins over those around it."""
        xml = self._xml
        around = [(len(xml.tokens), "yes", "default")]
        for index in xml.starts(_INHERITING):
            while around[-1][0] <= index:
                around.pop()
            translate = xml.attribute(index, "translate") or around[-1][1]
            space = xml.attribute(index, "xml:space") or around[-1][2]
            around.append((xml.end_of(index), translate, space))
            if translate != "no" and xml.tokens[index].name in _UNITS:
                yield from self._unit(index, space)

    def _unit(self, unit: int, space: str) -> Iterator[Place | Edit]:
        xml = self._xml
        named = {xml.tokens[child].name: child for child in xml.children(unit)}
        source, target = named.get("source"), named.get("target")
        if source is None or not xml.inner(source).strip():
            return
        keeps_space = (xml.attribute(source, "xml:space") or space) == "preserve"
        undone = [edit for index in (unit, target) if index for edit in self._undone(index)]
        fillings = list(self._fillings(named, is_undone=bool(undone)))
        for filling in fillings:
            yield from self._filled(filling, keeps_space=keeps_space)
        if fillings:
            yield from undone
        is_done = target is not None and has_letters(html.unescape(xml.text(target)))
        if is_done and not (undone or self._replaces):
            self.translated.append(unit)

    def _undone(self, index: int) -> Iterator[Edit]:
        """Says that a unit or target is translated, if it says that it is not."""
        token = self._xml.tokens[index]
        found = _UNDONE.finditer(self._xml.source, token.start, token.end)
        return (Edit(*state.span(), "translated") for state in found)

    def _fillings(self, named: Mapping[str, int], *, is_undone: bool) -> Iterator[_Filling]:
        """What is to be translated of a unit with these elements: the source or its segments."""
        xml, source = self._xml, named["source"]
        last = named.get("seg-source", source)
        segments = self._segments(last)
        content = last if segments else source
        if (target := named.get("target")) is None:
            at = xml.tokens[xml.end_of(last) - 1].end
            yield _Filling(content, Edit(at, at, f"{_indent(xml, source)}<target>"), "</target>")
            return
        marks = self._segments(target)
        sources = {marks[number]: segments[number] for number in marks.keys() & segments.keys()}
        is_new = self._replaces or is_undone or not self._has_content(target, source)
        if len(sources) < len(segments) and is_new:
            sources = {}
        for index in sorted(sources) or [target]:
            if is_new or not self._has_content(index, sources.get(index, content)):
                yield _Filling(sources.get(index, content), *xml.emptied(index))

    def _segments(self, index: int) -> dict[str | None, int]:
        """The segments inside an element of XLIFF 1.2, by their numbers."""
        marks = self._xml.inside(index, _MARKS)
        return {
            self._xml.attribute(mark, "mid"): mark
            for mark in marks
            if self._xml.attribute(mark, "mtype") == "seg"
        }

    def _has_content(self, index: int, source: int) -> bool:
        """Whether an element has text, or codes of a source that has nothing else to translate."""
        xml = self._xml
        inner = xml.tokens[index + 1 : xml.end_of(index) - 1]
        has_codes = any(one.kind is Kind.START and one.name not in _MARKS for one in inner)
        has_words = has_letters(html.unescape(xml.text(source)))
        return bool(xml.text(index).strip()) or (has_codes and not has_words)

    def _filled(self, filling: _Filling, *, keeps_space: bool) -> Iterator[Place | Edit]:
        """The places of a filling's texts. Without letters it is copied, as what is built from the
        file has only targets."""
        xml, (content, opening, closing) = self._xml, filling
        position, before = content + 1, opening.text
        texts = []
        for index in self._segments(content).values() or [content]:
            if text := self._text(index, keeps_space=keeps_space):
                texts.append((before + xml.written(position, index + 1), *text))
                position, before = xml.end_of(index) - 1, ""
        after = xml.written(position, xml.end_of(content) - 1) + closing
        if not texts:
            yield Edit(opening.start, opening.end, before + after)
        start = opening.start
        for number, (prefix, segment, spell) in enumerate(texts, 1):
            suffix = after if number == len(texts) else ""
            yield _between(start, opening.end, (prefix, suffix), segment, spell)
            start = opening.end

    def _text(self, index: int, *, keeps_space: bool) -> tuple[Segment, Callable[..., str]] | None:
        """An element's text, and how its translation is written; None without words. Text with
        elements has codes; text alone may be HTML or a message of ICU."""
        xml, text = self._xml, html.unescape(self._xml.text(index))
        inner = xml.tokens[index + 1 : xml.end_of(index) - 1]
        is_plain = all(xml.text_of(token) is not None for token in inner)
        if is_plain and (is_html(text) or not (keeps_space and _KEPT_SPACE.search(text))):
            segment = _segment(text, keeps_space=keeps_space)
            is_text = has_letters(text) and not is_date_pattern(text)
            return (segment, spelled_like(xml.inner(index))) if is_text else None
        places = list(self._content.places(index, keeps_lines=keeps_space))
        return (places[0].segment, places[0].write) if places else None


def _segment(text: str, *, keeps_space: bool) -> Segment:
    text_format: TextFormat = "text" if find_choices(text) else "auto"
    text = with_whole_sentences(text)
    if keeps_space:
        return Segment(text, text_format)
    return Segment(_LINE_BREAK.sub("\n", text), text_format, split_sentences="nonewlines")


def _message_places(xml: XmlText, message: int, options: FileOptions) -> Iterator[Place]:
    named = {xml.tokens[child].name: child for child in xml.children(message)}
    source, translation = named.get("source"), named.get("translation")
    if source is None or translation is None or xml.attribute(translation, "type") in _GONE:
        return
    text = html.unescape(xml.text(source))
    is_text = has_letters(text) and not is_date_pattern(text)
    if any(xml.children(source)) or not is_text:  # such as <byte>
        return
    forms = [i for i in xml.children(translation) if xml.tokens[i].name == "numerusform"]
    for target in forms or [translation]:
        if options.replaces or not xml.inner(target).strip():
            opening, closing = xml.emptied(target)
            span = opening.start, opening.end
            ends = opening.text, closing
            yield _between(*span, ends, Segment(text, "auto"), spelled_like(xml.inner(source)))


def value_places(xml: XmlText, value: int) -> Iterator[Place]:
    """The place of an element's text without the space around it, if it has words and no
    elements."""
    if any(xml.children(value)):
        return
    written = xml.inner(value)
    start = xml.tokens[value].end + len(written) - len(written.lstrip())
    text = html.unescape(xml.text(value)).strip()
    if is_worded(text):
        is_message = bool(find_choices(text))
        segment = Segment(with_whole_sentences(text), "text" if is_message else "auto")
        yield Place(start, start + len(written.strip()), segment, spelled_like(written.strip()))


def spelled_like(source: str) -> Callable[[str], str]:
    """How a translation is written where the source is written so."""
    if source.startswith(_CDATA) and source.find(_CDATA_END) == len(source) - len(_CDATA_END):
        return lambda text: _CDATA + text.replace("]]>", "]]]]><![CDATA[>") + _CDATA_END
    references = {html.unescape(one): one for one in _REFERENCE.findall(source)}
    itself = set(_REFERENCE.sub("", source))
    spelled = {char: one for char, one in references.items() if char not in itself}
    gt = ">" if ">" in itself else "&gt;"
    table = str.maketrans({"&": "&amp;", "<": "&lt;", ">": gt, **spelled})
    return lambda text: text.translate(table).replace("]]>", "]]&gt;")


def _between(
    start: int, end: int, ends: tuple[str, str], segment: Segment, spell: Callable[[Any], str]
) -> Place:
    """The place of a translation with what is written before and after it."""

    def write(translation: Text) -> str:
        return ends[0] + spell(translation) + ends[1]

    return Place(start, end, segment, write, is_filled=True)


def _indent(xml: XmlText, index: int) -> str:
    """The white space before an element, if only that is before it in its line."""
    start = xml.tokens[index].start
    line = xml.source.rfind("\n", 0, start)
    space = xml.source[line:start] if line >= 0 else ""
    return space if space.isspace() else ""
