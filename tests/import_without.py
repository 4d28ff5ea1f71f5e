"""Import modules, and what their functions import, as if some packages were not installed.

A program of its own. Its argument, in JSON, has the modules; the top-level modules that are not
installed; and the functions that nobody needs.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORT = ast.Import | ast.ImportFrom
_OURS = ("benchmarks.", "model.", "service.")


def refuse(refused: Sequence[str]) -> None:
    """Make these top-level modules impossible to find."""

    class Finder(PathFinder):
        @classmethod
        def find_spec(cls, fullname: str, *where: object) -> ModuleSpec | None:
            is_refused = fullname.partition(".")[0] in refused
            return None if is_refused else PathFinder.find_spec(fullname, *where)

    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder


def import_all(modules: Sequence[str], unneeded: Sequence[str]) -> None:
    """Import the modules, what functions of ours among them import, and so on."""
    known = set[str]()
    for name in modules:
        import_module(name)
    while new := [name for name in sys.modules if name.startswith(_OURS) and name not in known]:
        known.update(new)
        for statement in [one for name in new for one in _imports_of_functions(name, unneeded)]:
            exec(statement, {})


def _imports_of_functions(name: str, unneeded: Sequence[str]) -> Iterator[str]:
    tree = ast.parse(Path(str(sys.modules[name].__file__)).read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTION) and f"{name}.{function.name}" not in unneeded:
            found = (node for node in ast.walk(function) if isinstance(node, _IMPORT))
            yield from map(ast.unparse, found)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    refuse(given["refused"])
    import_all(given["modules"], given["unneeded"])
