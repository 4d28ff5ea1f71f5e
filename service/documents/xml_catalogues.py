"""XLIFF 1.2 and 2, and Qt Linguist's TS: translations are written from sources beside them."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    has_letters,
)
from service.documents.xml_text import InlineContent, Role, XmlText, read_xml
from service.errors import InvalidDocument
from service.translation.markup.coded_text import Text

_XLIFF, _FILE = frozenset({"xliff"}), frozenset({"file"})
_PAIRS = frozenset({"g", "pc", "mrk"})
_UNITS = frozenset({"trans-unit", "segment"})
_KEEPING = frozenset({"group", "unit", "trans-unit", "file"})
_VERSIONS = ("1.2", "2.0", "2.1", "2.2")
_TS, _MESSAGE = frozenset({"ts"}), frozenset({"message"})
_GONE = ("obsolete", "vanished")


def parse_xliff(content: bytes, options: FileOptions) -> TextFile:
    """Units without a target, or with an empty one; with `replaces` all but those that say
    `translate="no"`. Inline elements are codes."""
    xml = read_xml(content)
    root = next(iter(xml.starts(_XLIFF)), None)
    version = xml.attribute(root, "version") if root is not None else None
    if root is None or version not in _VERSIONS:
        raise InvalidDocument(f"the file is not XLIFF of version {' or '.join(_VERSIONS)}")
    is_old = version == "1.2"
    places = list(_unit_places(xml, options))
    tags, name = (xml.starts(_FILE), "target-language") if is_old else ([root], "trgLang")
    return TextFile(xml.decoded, places, _new_attributes(xml, tags, name, options.target))


def parse_qt(content: bytes, options: FileOptions) -> TextFile:
    """Messages without a translation, or with `replaces` all. What was `unfinished` stays so, for
    a person to look at; obsolete messages stay."""
    xml = read_xml(content)
    roots = xml.starts(_TS)[:1]
    if not roots:
        raise InvalidDocument("the file is not a TS file of Qt Linguist")
    places = [p for message in xml.starts(_MESSAGE) for p in _message_places(xml, message, options)]
    return TextFile(xml.decoded, places, _new_attributes(xml, roots, "language", options.target))


def _new_attributes(xml: XmlText, tags: list[int], name: str, value: str) -> list[Edit]:
    """Adds an attribute to each of the tags that does not have it."""
    bare = (tag for tag in tags if xml.attribute(tag, name) is None)
    return [xml.new_attribute(tag, name, value) for tag in bare]


def _unit_places(xml: XmlText, options: FileOptions) -> Iterator[Place]:
    def role(index: int) -> Role:
        is_protected = xml.attribute(index, "mtype") == "protected"  # in XLIFF 1.2
        is_kept = is_protected or xml.attribute(index, "translate") == "no"
        return "pair" if xml.tokens[index].name in _PAIRS and not is_kept else "single"

    content = InlineContent(xml, frozenset(), role)
    kept_until = lines_until = 0
    for index in xml.starts(_UNITS | _KEEPING):
        if index < kept_until:
            continue
        if xml.attribute(index, "xml:space") == "preserve":
            lines_until = max(lines_until, xml.end_of(index))
        if xml.attribute(index, "translate") == "no":
            kept_until = xml.end_of(index)
        elif xml.tokens[index].name in _UNITS:
            yield from _targets(xml, index, content, options, keeps_lines=index < lines_until)


def _targets(
    xml: XmlText,
    unit: int,
    content: InlineContent,
    options: FileOptions,
    *,
    keeps_lines: bool,
) -> Iterator[Place]:
    """The places of a unit's source in its target, which may be new."""
    named = {xml.tokens[child].name: child for child in xml.children(unit)}
    source, target = named.get("source"), named.get("target")
    if source is None or xml.tokens[source].is_empty:
        return
    if target is not None:
        if xml.inner(target).strip() and not options.replaces:
            return
        opening = xml.without_content(target)
    else:
        after = xml.end_of(named.get("seg-source", source))
        at = xml.tokens[after - 1].end
        opening = Edit(at, at, f"{_indent(xml, source)}<target>")
    keeps_lines = keeps_lines or xml.attribute(source, "xml:space") == "preserve"
    for place in content.places(source, keeps_lines=keeps_lines):
        yield _filled(place.segment, place.write, opening, "</target>")


def _message_places(xml: XmlText, message: int, options: FileOptions) -> Iterator[Place]:
    named = {xml.tokens[child].name: child for child in xml.children(message)}
    source, translation = named.get("source"), named.get("translation")
    if source is None or translation is None or xml.attribute(translation, "type") in _GONE:
        return
    text = html.unescape(xml.text(source))
    if any(xml.children(source)) or not has_letters(text):  # such as <byte>
        return
    forms = [i for i in xml.children(translation) if xml.tokens[i].name == "numerusform"]
    name = "numerusform" if forms else "translation"
    for target in forms or [translation]:
        if options.replaces or not xml.inner(target).strip():
            opening = xml.without_content(target)
            yield _filled(Segment(text, "auto"), _escaped, opening, f"</{name}>")


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _filled(segment: Segment, spell: Callable[[Any], str], opening: Edit, closing: str) -> Place:
    """The place of a translation between tags."""

    def write(translation: Text) -> str:
        return opening.text + spell(translation) + closing

    return Place(opening.start, opening.end, segment, write, is_filled=True)


def _indent(xml: XmlText, index: int) -> str:
    """The white space before an element, if only that is before it in its line."""
    start = xml.tokens[index].start
    line = xml.source.rfind("\n", 0, start)
    space = xml.source[line:start] if line >= 0 else ""
    return space if space.isspace() else ""
