"""Numbers of so many, as in page 3 of 10, and beside others: networks write Seite 3. 10, step 3
from 10, and Gruppe 3. 12 Leute for group 3, 12 people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_OF = {"en": "of", "de": "von"}
_SHARE = {
    language: regex.compile(
        rf"(?<![\p{{L}}\d.,:/-])(?P<number>\d{{1,4}})(?P<joint>,| (?:out )?{of}) "
        r"(?P<count>\d{1,5})(?![.,:/-]?\d)"
    )
    for language, of in _OF.items()
}
_WRITTEN = regex.compile(
    r"(?<![\d.,])(?P<number>\d{1,4})(?P<between>(?:\.| \p{Ll}{2,4}) )(?P<count>\d{1,5})(?![.,]?\d)"
)


@dataclass(frozen=True)
class Shares:
    """The stage of a sentence with such numbers, which go in as they are."""

    text: str
    _pair: tuple[str, str]

    def leave(self, draft: Draft) -> Draft:
        """The translation with the target's word, or the comma, between the two numbers."""
        return draft.changed([*self._changes(draft.text)])

    def _changes(self, translation: str) -> Iterator[Replacement]:
        source, target = self._pair
        shares = _SHARE[source].finditer(self.text, overlapped=True)
        joints = {(one["number"], one["count"]): one["joint"] for one in shares}
        for found in _WRITTEN.finditer(translation, overlapped=True):
            joint = joints.get((found["number"], found["count"]))
            is_copy = found["between"].strip() == _OF[source]
            if joint == "," and found["between"] == ". ":
                yield Replacement(*found.span("between"), ", ")
            elif joint is not None and joint != "," and not is_copy:
                yield Replacement(*found.span("between"), f" {_OF[target]} ")


def enter_shares(text: str, pair: tuple[str, str]) -> Shares | None:
    """The stage of a sentence with such numbers, if both languages are known."""
    known = _SHARE.get(pair[0]) if pair[1] in _OF else None
    return Shares(text, pair) if known is not None and known.search(text) else None
