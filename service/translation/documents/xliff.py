"""XLIFF 1.2 and 2: <target> is written from <source>, with its inline elements as codes."""

from __future__ import annotations

from collections.abc import Iterator

from service.errors import InvalidDocument
from service.translation.documents.inline_xml import InlineContent, Role, RoleOf
from service.translation.documents.segments import (
    Edit,
    FileOptions,
    Place,
    PlacedText,
    TextFile,
)
from service.translation.documents.xml_text import XmlText, read_xml

_ROOT, _FILE = frozenset({"xliff"}), frozenset({"file"})
_PAIRS = frozenset({"g", "pc", "mrk"})
_UNITS = frozenset({"trans-unit", "segment"})
_KEEPING = frozenset({"group", "unit", "trans-unit", "file"})
_VERSIONS = ("1.2", "2.0", "2.1", "2.2")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Units without a target, or with an empty one; with `replaces` all but those that say
    `translate="no"`."""
    xml = read_xml(content)
    root = next(xml.starts(_ROOT), None)
    version = xml.attribute(root, "version") if root is not None else None
    if root is None or version not in _VERSIONS:
        raise InvalidDocument(f"the file is not XLIFF of version {' or '.join(_VERSIONS)}")
    is_old = version == "1.2"
    places = list(_places(xml, options))
    tags, name = (xml.starts(_FILE), "target-language") if is_old else ([root], "trgLang")
    edits = [
        xml.new_attribute(tag, name, options.target)
        for tag in tags
        if xml.attribute(tag, name) is None
    ]
    return TextFile(PlacedText(xml.source, places, edits), xml.encode)


def _places(xml: XmlText, options: FileOptions) -> Iterator[Place]:
    content = InlineContent(xml, frozenset(), _role(xml))
    kept_until = 0
    for index in xml.starts(_UNITS | _KEEPING):
        if index < kept_until:
            continue
        if xml.attribute(index, "translate") == "no":
            kept_until = xml.end_of(index)
        elif xml.tokens[index].name in _UNITS:
            yield from _unit_places(xml, index, content, options)


def _unit_places(
    xml: XmlText, unit: int, content: InlineContent, options: FileOptions
) -> Iterator[Place]:
    named = {xml.tokens[child].name: child for child in xml.children(unit)}
    source, target = named.get("source"), named.get("target")
    if source is None or xml.tokens[source].is_empty:
        return
    after = xml.end_of(named.get("seg-source", source))
    for place in content.places(source):
        if target is None:
            at = xml.tokens[after - 1].end
            indent = _indent(xml, source)
            yield _moved(place, Edit(at, at, f"{indent}<target>"), "</target>")
        elif options.replaces or not xml.inner(target).strip():
            yield _moved(place, xml.without_content(target), "</target>")


def _moved(place: Place, opening: Edit, closing: str) -> Place:
    """The place elsewhere, between tags."""

    def write(translation: str) -> str:
        return opening.text + place.write(translation) + closing

    return Place(opening.start, opening.end, place.segment, write, is_filled=True)


def _indent(xml: XmlText, index: int) -> str:
    """The white space before an element, if only that is before it in its line."""
    start = xml.tokens[index].start
    line = xml.source.rfind("\n", 0, start)
    space = xml.source[line:start] if line >= 0 else ""
    return space if space.isspace() else ""


def _role(xml: XmlText) -> RoleOf:
    def role(index: int) -> Role:
        token = xml.tokens[index]
        is_kept = xml.attribute(index, "translate") == "no"
        return "pair" if token.name in _PAIRS and not is_kept else "single"

    return role
