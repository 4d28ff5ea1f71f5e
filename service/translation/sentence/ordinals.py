"""English ordinals in digits: networks write 22th, and of 3. and a carrier 3th. Chinese ones go in
as English ones: of 第33届 networks make 33, and of 第二十三届 anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.translation.checks.number_words import numeral_value, ordinal_ending
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_ORDINAL = {
    "de": regex.compile(r"\d\.\s"),
    "zh": regex.compile(r"第\s?\d|第[二三四五六七八九]?十|第[一二三四五六七八九]百|\d世[纪紀]"),
}
_CHINESE = regex.compile(
    r"第\s?(?P<number>\d{1,4}|[一二三四五六七八九]百[一二三四五六七八九十零]{0,4}"
    r"|[二三四五六七八九]?十[一二三四五六七八九]|[二三四五六七八九]十)"
    r"\s?(?:[届次名位任本]|个(?!月)|(?P<unit>代))"
)
"""Networks know 第一次 to 第十次."""
_WRITTEN = regex.compile(r"(?<![\p{L}\d.,])(?P<number>\d{1,4})(?P<ending>(?:st|nd|rd|th){1,3})\b")


@dataclass(frozen=True)
class Ordinals:
    """The stage of a sentence with ordinals, which go in as they are."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with the ending that each number has."""
        right = (
            Replacement(*one.span("ending"), ordinal_ending(int(one["number"])))
            for one in _WRITTEN.finditer(draft.text)
        )
        wrong = [one for one in right if draft.text[one.start : one.end] != one.new]
        return draft.replaced(Replaced(draft.text, wrong))


def enter_ordinals(text: str, pair: tuple[str, str]) -> Ordinals | None:
    """The stage of a sentence with ordinals in digits on its way to English."""
    source, target = pair
    known = _ORDINAL.get(source) if target == "en" else None
    return Ordinals(text) if known is not None and known.search(text) else None


def find_ordinals(text: str) -> Iterator[Replacement]:
    """Those of a Chinese text with what is counted in order, as English ones."""
    for found in _CHINESE.finditer(text):
        number = numeral_value(found["number"])
        yield Replacement(*found.span(), f"{number}{ordinal_ending(number)}{found['unit'] or ''}")
