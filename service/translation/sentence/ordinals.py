"""English ordinals in digits: networks write 22th, and of 3. and a carrier 3th."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_ORDINAL = {
    "de": regex.compile(r"\d\.\s"),
    "zh": regex.compile(r"第\s?\d|\d世[纪紀]"),
}
_WRITTEN = regex.compile(r"(?<![\p{L}\d.,])(?P<number>\d{1,4})(?P<ending>(?:st|nd|rd|th){1,3})\b")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_TEENS = range(11, 14)


@dataclass(frozen=True)
class Ordinals:
    """The stage of a sentence with ordinals, which go in as they are."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with the ending that each number has."""
        wrong = [one for one in _WRITTEN.finditer(draft.text) if one["ending"] != _ending(one)]
        right = Replaced(
            draft.text, [Replacement(*one.span("ending"), _ending(one)) for one in wrong]
        )
        return draft.replaced(right)


def enter_ordinals(text: str, pair: tuple[str, str]) -> Ordinals | None:
    """The stage of a sentence with ordinals in digits on its way to English."""
    source, target = pair
    known = _ORDINAL.get(source) if target == "en" else None
    return Ordinals(text) if known is not None and known.search(text) else None


def _ending(written: regex.Match[str]) -> str:
    number = int(written["number"])
    return "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
