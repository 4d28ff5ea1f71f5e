"""Numbers whose marks a language writes otherwise: networks copy some, so that 3.4% stays so in
German, where it is 3,4%; and they write 2.500 in Chinese, where it is 2,500 as in English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from service.translation.sentence.numbers.amounts import localised
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_NUMBER = regex.compile(
    r"(?<![\p{L}\d.,:/_#]|[\p{L}\d]-|\p{L}\(-?|v\.|(?i:version )-?)(?P<before>(?<=[$€£¥±×−]\s?|⟧"
    r"|(?<![<>=!~]\s?)=\s?|(?<![\p{L}+])\+\s?)|(?<=[<>≤≥]\s?)(?=0\.\d))?"
    r"(?P<number>\d{1,9}(?:[.,]\d{1,9}){1,4})"
    r"(?![\p{L}\d_:/'′]|[.,-]\d|-(?i:bis|di|tri|tetra|meth|eth|epoxy))"
    r"(?P<after>\s?[%‰°€$£¥±×]|(?<!\p{Lu}\p{L}+ [\d.]++)\s?⟦"
    r"|[\s-](?:million|billion|trillion|EUR|USD|GBP|CHF)\b)?"
)
_HEADING = regex.compile(r"[\p{L} ]+[\d.]++")
"""Words and a number, which is of a chapter or a place."""
_LETTER = r"(?V1:[\p{L}--\p{Han}])"
_BY_COMMAS = regex.compile(r"\d{1,3}(?:,\d{3})+")
_GROUPED = regex.compile(r"\d{1,3}(?:\.\d{3})+")


@dataclass(frozen=True)
class Notation:
    """The stage of a sentence with such numbers: the text as it is, and how what may be copies of
    them is written."""

    text: str
    _written: Mapping[str, str]

    def leave(self, draft: Draft) -> Draft:
        """The translation with the numbers that it copies as its language writes them."""
        if draft.text == self.text:
            return draft
        any_of = "|".join(map(regex.escape, self._written))
        copy = regex.compile(rf"(?<!{_LETTER}|[\d.,])(?:{any_of})(?!{_LETTER}|[.,]?\d)")
        copies = copy.finditer(draft.text)
        changed = Replaced(
            draft.text, [Replacement(*one.span(), self._written[one.group()]) for one in copies]
        )
        return draft.replaced(changed)


def enter_notation(text: str, pair: tuple[str, str]) -> Notation | None:
    """The stage of a sentence with numbers whose marks may become wrong. One with a decimal point
    only counts if it is of a currency, a unit or a formula: others are versions and sections."""
    written: dict[str, str] = {}
    if _HEADING.fullmatch(text):
        return None
    for found in _NUMBER.finditer(text):
        number = found["number"]
        is_measured = found["before"] is not None or found["after"] is not None
        if is_measured or not _is_version(number, pair[0]):
            new = localised(number, *pair)
            copy = number
            if new == number and _BY_COMMAS.fullmatch(number):
                copy = number.replace(",", ".")
            if new is not None and new != copy:
                written[copy] = new
    return Notation(text, written) if written else None


def _is_version(number: str, language: str) -> bool:
    """Whether a number may be a version or a section: of English 3.10, of German 1.2.3."""
    return number.count(",") == 0 and (language == "en" or not _GROUPED.fullmatch(number))
