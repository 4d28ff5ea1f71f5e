"""Packages of Office Open XML: archives whose parts have types, wherever they stand."""

from __future__ import annotations

import functools
import html

import regex

from service.documents.archive import Archive, properties_of
from service.documents.labels import LabelledText, labels
from service.documents.segments import TextFile
from service.errors import InvalidDocument

_TYPES = "[Content_Types].xml"
_PROPERTIES = r"openxmlformats-package\.core-properties"
DRAWINGS = (
    r"drawingml\.(?:chart|chartshapes|diagramData)|ms-office\.(?:chartex|drawingml\.diagramDrawing)"
)
"""The types of charts and diagrams."""
PICTURES = r"\w+:(?:docPr|cNvPr|hlinkClick)", "descr|title|tooltip"
"""The tags and the attributes of alternative texts and tips."""
LABELLED = functools.partial(LabelledText, known=labels(*PICTURES))
"""A part whose pictures have alternative texts."""
_OVERRIDE, _DEFAULT = frozenset({"override"}), frozenset({"default"})


class Package(Archive):
    """A package. Raises InvalidDocument or DocumentTooLarge."""

    def __init__(self, content: bytes, kind: str, main: str) -> None:
        """`main`: an expression for the type of the part that makes it a file of this `kind`."""
        super().__init__(content, kind)
        self.require(_TYPES)
        xml = self.read_xml(_TYPES)

        def listed(names: frozenset[str], key: str) -> dict[str, str]:
            found = (
                (xml.attribute(index, key), xml.attribute(index, "ContentType"))
                for index in xml.starts(names)
            )
            return {html.unescape(name or "").lower(): kind or "" for name, kind in found}

        self._types, self._defaults = listed(_OVERRIDE, "PartName"), listed(_DEFAULT, "Extension")
        if not self.parts(main):
            raise InvalidDocument(f"the file is not {kind} file, as {_TYPES} says")

    def parts(self, types: str) -> list[str]:
        """The names of the parts that have these types, an expression without vendors."""
        pattern = regex.compile(
            rf"application/(?:vnd\.)?(?:openxmlformats-officedocument\.)?(?:{types})\+xml"
        )
        return [name for name in self.names if pattern.fullmatch(self.type_of(name))]

    def properties(self, locale: str) -> dict[str, TextFile]:
        """The parts with the document's title, and its language, which becomes this one."""
        return properties_of(self, self.parts(_PROPERTIES), locale)

    def type_of(self, name: str) -> str:
        """The media type of a part."""
        extension = name.rpartition(".")[2].lower()
        return self._types.get("/" + name.lower(), self._defaults.get(extension, ""))
