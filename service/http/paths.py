"""What holds for a request by its path, before its route is found."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class PathRules(NamedTuple):
    """What holds for a path. `label`: the metrics' name of it; the rest as in `Paths`."""

    label: str
    is_work: bool
    is_open: bool
    is_linked: bool
    is_keyed: bool


@dataclass(frozen=True)
class Paths:
    """Sets of paths; those that end in `_below` hold prefixes, for all paths that begin so.

    `named`: metrics have them as labels. `work`: a POST needs the engines. `open`: no key is
    needed, and no limit counts. `linked`: pages of other origins may ask for them, as for open
    ones. `keyed`: a POST may have its key in the body.
    """

    named: frozenset[str]
    named_below: tuple[str, ...]
    work: frozenset[str]
    open: frozenset[str]
    open_below: tuple[str, ...]
    linked_below: tuple[str, ...]
    keyed: frozenset[str]
    keyed_below: tuple[str, ...]

    def rules(self, path: str) -> PathRules:
        """The rules of a path; those of the named paths are made once."""
        return self.named_rules.get(path) or self._rules(path)

    def is_open(self, path: str) -> bool:
        return path in self.open or path.startswith(self.open_below)

    @functools.cached_property
    def named_rules(self) -> Mapping[str, PathRules]:
        return {path: self._rules(path) for path in self.named}

    def _rules(self, path: str) -> PathRules:
        is_open = self.is_open(path)
        return PathRules(
            self._label(path),
            is_work=path in self.work,
            is_open=is_open,
            is_linked=is_open or path.startswith(self.linked_below),
            is_keyed=path in self.keyed or path.startswith(self.keyed_below),
        )

    def _label(self, path: str) -> str:
        if path in self.named:
            return path
        return next((prefix for prefix in self.named_below if path.startswith(prefix)), "other")
