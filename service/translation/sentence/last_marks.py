"""Several marks at the end of a sentence, and dots within, of which networks write more or fewer:
Niemals... became Never...., Hey!! became Hey!, and dots within a row of them."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.language.segmentation import is_spaced
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

SEVERAL = ("...", "…", "!!", "??", "!?", "?!")
_DOTS = frozenset(".…")
_WITHIN = regex.compile(r"(?<![.!?…])(?:\.{2}|\.{4,}+|\.++…[.…]*+|…[.…]++)(?![.!?…]|\Z)")
"""Dots in another number than three."""
_LAST = regex.compile(r"(?<![.!?…])[.!?…]++\Z")


@dataclass(frozen=True)
class LastMarks:
    """The stage of a sentence with several marks, which goes in as it is. `_marks`: the last ones,
    or ""; `_dots`: those within, or ""."""

    text: str
    _marks: str
    _dots: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with as many last ones, if it ends with such marks or a full stop, and
        with three dots or their sign within."""
        if draft.text == self.text:
            return draft
        within = _WITHIN.finditer(draft.text) if self._dots else ()
        news = [Replacement(*one.span(), self._dots) for one in within]
        last = _LAST.search(draft.text)
        if last and self._marks and {*last.group()} <= _DOTS | {*self._marks}:
            news.append(Replacement(*last.span(), self._marks))
        return draft.changed(news)


def enter_last_marks(text: str, target: str) -> LastMarks | None:
    """The stage of a sentence; None of one with single marks, or with more than two or three, and
    for languages that have wide marks."""
    if not is_spaced(target):
        return None
    last = _LAST.search(text)
    dots = next((one for one in ("...", "…") if one in text), "")
    marks = last.group() if last else ""
    if not (dots or marks in SEVERAL):
        return None
    return LastMarks(text, marks if marks == "." or marks in SEVERAL else "", dots)
