"""The packages that stand beside this one, `model` and `service`, whose names others have too."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_BESIDE = Path(__file__).parents[1]
_NAMES = ("model", "service")


def import_neighbours() -> None:
    """Import both from beside this package, whatever stands before them on the path. Raises
    ImportError if another module is imported under one of the names."""
    for name in _NAMES:
        if name not in sys.modules:
            _import(name)
        where = getattr(sys.modules[name], "__file__", None)
        if where is None or not Path(where).parent.samefile(_BESIDE / name):
            raise ImportError(
                f"dragoman has a package {name} of its own, and the name is that of {where}"
            )


def _import(name: str) -> None:
    spec = PathFinder.find_spec(name, [str(_BESIDE)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{_BESIDE} has no package {name}, which dragoman needs")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
