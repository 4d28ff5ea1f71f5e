"""Several marks at the end of a sentence, of which networks write more or fewer: Niemals... became
Never...., and Hey!! became Hey!"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

SEVERAL = ("...", "…", "!!", "??", "!?", "?!")
_DOTS = frozenset(".…")
_LAST = regex.compile(r"(?<![.!?…])[.!?…]++\Z")


@dataclass(frozen=True)
class LastMarks:
    """The stage of a sentence that ends with several marks, which goes in as it is."""

    text: str
    _marks: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with as many, if it ends with such marks or a full stop."""
        last = _LAST.search(draft.text)
        if last is None or not {*last.group()} <= _DOTS | {*self._marks}:
            return draft
        return draft.replaced(Replaced(draft.text, [Replacement(*last.span(), self._marks)]))


def enter_last_marks(text: str) -> LastMarks | None:
    """The stage of a sentence; None of one that ends with a single mark, or with more than two or
    three."""
    last = _LAST.search(text)
    return LastMarks(text, last.group()) if last and last.group() in SEVERAL else None
