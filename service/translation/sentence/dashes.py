"""Dashes between words: networks write --, — or - for one and the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_DASH = regex.compile(r"(?<=\S )(?:--|[-–—])(?= \S)")
_USUAL = {("—", "–"), ("--", "–"), ("--", "—"), ("-", "–"), ("-", "—")}
"""What stands for a dash of the sentence as well: English ones are longer than German ones, and
hyphens often mean one."""


@dataclass(frozen=True)
class Dashes:
    """The stage of a sentence with dashes, which go in as they are."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with the dashes of the sentence if it has as many."""
        return draft.changed([*self._changes(draft.text)])

    def _changes(self, translation: str) -> Iterator[Replacement]:
        own, found = _DASH.findall(self.text), [*_DASH.finditer(translation)]
        if len(own) == len(found):
            for dash, one in zip(own, found, strict=True):
                if one.group() != dash and (dash, one.group()) not in _USUAL:
                    yield Replacement(one.start(), one.end(), dash)


def enter_dashes(text: str) -> Dashes | None:
    """The stage of a sentence with dashes between words; None without."""
    return Dashes(text) if _DASH.search(text) else None
