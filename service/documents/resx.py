"""The resources of .NET: an element <data> for each string, picture or property of a form."""

from __future__ import annotations

from collections.abc import Iterator

from service.documents.segments import FileOptions, TextFile
from service.documents.xml_catalogues import value_places
from service.documents.xml_text import XmlText, read_xml
from service.errors import InvalidDocument
from service.translation.markup.scanner import Kind

_STRING = "System.String"
_DESIGNER = "&gt;&gt;"
"""How the designer of forms begins the names of its own values."""


def parse(content: bytes, options: FileOptions) -> TextFile:
    """The values of strings. Values of other types stay."""
    xml = read_xml(content)
    root = next(index for index, token in enumerate(xml.tokens) if token.kind is Kind.START)
    if xml.tokens[root].name != "root":
        raise InvalidDocument("the file is not .resx: it has no element <root> around all others")
    values = (value for child in xml.children(root) for value in _values(xml, child))
    return TextFile(xml.decoded, (place for value in values for place in value_places(xml, value)))


def _values(xml: XmlText, index: int) -> Iterator[int]:
    """The elements with the text of a string's element."""
    kind = xml.attribute(index, "type") or _STRING
    is_string = kind.startswith(_STRING) and xml.attribute(index, "mimetype") is None
    name = (xml.attribute(index, "name") or "").replace(">", "&gt;")
    if xml.tokens[index].name == "data" and is_string and not name.startswith(_DESIGNER):
        yield from (child for child in xml.children(index) if xml.tokens[child].name == "value")
