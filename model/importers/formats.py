"""Tell foreign models apart by their files, without reading weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model.files import FileError, read_json

EOLE_FOLDERS = ("eole-model", "eole_model")
"""Where QuickMT keeps eole's model, beside a conversion of it."""
_MOST_JSON_BYTES = 2**24


def config_of(directory: Path) -> dict[str, Any]:
    """config.json; empty if there is none, or if it cannot be read."""
    path = directory / "config.json"
    try:
        parsed = read_json(path, _MOST_JSON_BYTES) if path.is_file() else {}
    except FileError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def eole_directory(source: Path) -> Path | None:
    """The directory of eole's model: the source itself or a folder in it."""
    for directory in (source, *(source / name for name in EOLE_FOLDERS)):
        if isinstance(config_of(directory).get("model"), dict):
            return directory
    return None
