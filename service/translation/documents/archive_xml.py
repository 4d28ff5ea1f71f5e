"""Archives whose members are XML."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from service.translation.documents.archive import Archive, ArchiveFile
from service.translation.documents.segments import Place, PlacedText
from service.translation.documents.xml_text import XmlText, read_xml


def place_members(
    archive: Archive, names: Iterable[str], places_of: Callable[[XmlText], Iterable[Place]]
) -> ArchiveFile:
    """The file of an archive with the places of these members."""
    texts = {}
    for name in names:
        xml = read_xml(archive.read(name))
        text = PlacedText(xml.source, places_of(xml))
        if text.segments:
            texts[name] = (text, xml.encode)
    return ArchiveFile(archive, texts)
