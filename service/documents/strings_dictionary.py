"""Apple's .stringsdict: a property list with the forms of plurals, by key."""

from __future__ import annotations

from collections.abc import Iterator

from service.documents.segments import FileOptions, TextFile
from service.documents.xml_catalogues import value_places
from service.documents.xml_text import XmlText, read_xml
from service.errors import InvalidDocument
from service.translation.markup.scanner import Kind

_APPLE, _FORMAT = "NSString", "NSStringLocalizedFormatKey"
"""How keys begin that say how a text is chosen, and the one of them that has a text."""


def parse(content: bytes, options: FileOptions) -> TextFile:
    """The texts of all rules, and the sentences that name them as `%#@files@`."""
    xml = read_xml(content)
    root = next(index for index, token in enumerate(xml.tokens) if token.kind is Kind.START)
    if xml.tokens[root].name != "plist":
        raise InvalidDocument("the file is not .stringsdict: it has no element <plist>")
    values = [value for child in xml.starts(frozenset({"dict"})) for value in _values(xml, child)]
    return TextFile(xml.decoded, (place for value in values for place in value_places(xml, value)))


def _values(xml: XmlText, dictionary: int) -> Iterator[int]:
    """The strings of a dictionary that are shown."""
    key = ""
    for child in xml.children(dictionary):
        name = xml.tokens[child].name
        if name == "key":
            key = xml.text(child).strip()
        elif name == "string" and (key == _FORMAT or not key.startswith(_APPLE)):
            yield child
