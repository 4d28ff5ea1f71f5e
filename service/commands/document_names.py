"""Which files a command translates by their formats, and the names of their translations."""

from __future__ import annotations

from pathlib import Path

from service.translation.documents.formats import FORMATS, SAVE_AS

_TEXT = ".txt"


def is_document(path: Path) -> bool:
    """Whether the file has a format of its own, which may be refused; any other is plain text."""
    suffix = path.suffix.lower()
    return (suffix in FORMATS or suffix in SAVE_AS) and suffix != _TEXT


def output_name(path: Path) -> str:
    """The name of the file's translation: its own, but for formats that become others."""
    found = FORMATS.get(path.suffix.lower())
    if found is None or found.suffix == path.suffix.lower():
        return path.name
    return path.with_suffix(found.suffix).name
