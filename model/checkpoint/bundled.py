"""The checkpoints that come with the package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "dragoman_checkpoints"
_SOURCE_TREE = Path(__file__).parents[2] / "checkpoints"
BUNDLED_NAMES = ("zh-en", "en-de")


def bundled_checkpoint(name: str) -> Path:
    """The directory of a bundled checkpoint; `name` is one of BUNDLED_NAMES."""
    return _directory() / name


def _directory() -> Path:
    """The directory in the installed package, or else in the source tree."""
    spec = find_spec(_PACKAGE)
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else _SOURCE_TREE
