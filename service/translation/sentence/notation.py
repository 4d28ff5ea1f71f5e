"""Numbers whose marks a language writes otherwise: networks copy some, so that 3.4% stays so in
German, where it is 3,4%; and they write 2.500 in Chinese, where it is 2,500 as in English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from model.text.spans import disjoint
from service.translation.sentence.numbers.amounts import localised
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_NUMBER = regex.compile(
    r"(?<![\p{L}\d.,:/_#]|[\p{L}\d]-|\p{L}\(-?|v\.|(?i:version )-?)(?P<before>(?<=[$€£¥±×−]\s?|⟧"
    r"|(?<![<>=!~]\s?)=\s?|(?<![\p{L}+])\+\s?)|(?<=[<>≤≥⟧]\s?)(?=0\.\d))?"
    r"(?P<number>\d{1,9}(?:[.,]\d{1,9}){1,4})"
    r"(?![\p{L}\d_:'′]|/(?(before)(?!\p{L}))|[.,-]\d|-(?i:bis|di|tri|tetra|meth|eth|epoxy))"
    r"(?P<after>\s?[%‰°€$£¥±×]|(?<!\p{Lu}\p{L}+ [\d.]++)\s?⟦"
    r"|[\s-](?:million|billion|trillion|EUR|USD|GBP|CHF)\b)?"
)
_ANY = r"\d{1,9}(?:[.,]\d{1,9}){1,3}"
_JOINT = (
    r"\s?(?:\p{L}{1,4}|⟦\d\d?⟧)?"
    r"(?:\s?(?:[-–—×x;/]|(?<=[\p{L}⟧]),)\s?|\s(?:to|and|or|by|bis|und|oder|mal|x)\s)"
)
_JOINED = regex.compile(
    rf"(?<![\p{{L}}\d.,:/_#]|[\p{{L}}\d]-){_ANY}(?:{_JOINT}{_ANY}){{1,9}}+(?![.,]?\d)"
)
"""Numbers beside each other: if one is no version, none is."""
_HEADING = regex.compile(r"[\p{L} ]+[\d.]++")
"""Words and a number, which is of a chapter or a place."""
_LETTER = r"(?V1:[\p{L}--\p{Han}])"
_BY_COMMAS = regex.compile(r"\d{1,3}(?:,\d{3})+")
_GROUPED = regex.compile(r"\d{1,3}(?:\.\d{3})+")


@dataclass(frozen=True)
class Notation:
    """The stage of a sentence with such numbers: the text as it is, and how what may be copies of
    them is written. `is_number`: the text is one that was in words, and no copy of anything."""

    text: str
    _written: Mapping[str, str]
    _joined: Sequence[Mapping[str, str]] = ()
    is_number: bool = False

    @property
    def num_copied(self) -> int:
        """How many numbers of the text the target writes otherwise."""
        return sum(number in self.text for number in self._written)

    def leave(self, draft: Draft) -> Draft:
        """The translation with the numbers that it copies as its language writes them."""
        if draft.text == self.text and not self.is_number:
            return draft
        found = [*_copies(draft.text, self._written)]
        for joined in self._joined:
            new = dict.fromkeys(joined.values(), "")
            known = joined.keys() & self._written.keys()
            if known or any(_copies(draft.text, new, has_units=True)):
                found += _copies(draft.text, joined, has_units=True)
        return draft.changed(disjoint(found))


def _copies(
    text: str, written: Mapping[str, str], *, has_units: bool = False
) -> Iterator[Replacement]:
    """Where the keys stand in a text, and what they become. `has_units`: also before a letter."""
    any_of = "|".join(map(regex.escape, written))
    copy = regex.compile(rf"(?<!{_LETTER}|[\d.,])(?:{any_of})(?![.,]?\d)(?P<unit>(?={_LETTER}))?")
    for one in copy.finditer(text) if written else ():
        if has_units or one["unit"] is None:
            yield Replacement(*one.span(), written[one.group()])


def enter_notation(text: str, pair: tuple[str, str], *, is_number: bool = False) -> Notation | None:
    """The stage of a sentence with numbers whose marks may become wrong. One with a decimal point
    only counts if it is of a currency, a unit or a formula, or `is_number`: others are versions and
    sections."""
    written: dict[str, str] = {}
    if _HEADING.fullmatch(text):
        return None
    for found in _NUMBER.finditer(text):
        number = found["number"]
        is_measured = is_number or found["before"] is not None or found["after"] is not None
        if is_measured or not _is_version(number, pair[0]):
            new = localised(number, *pair)
            copy = _swapped(number, pair) if new == number else number
            if new is not None and new != copy:
                written[copy] = new
    joined = [*_joined(text, pair)]
    return Notation(text, written, joined, is_number) if written or joined else None


def _swapped(number: str, pair: tuple[str, str]) -> str:
    """How networks write a number that stands as the target writes it: with the other marks."""
    if _BY_COMMAS.fullmatch(number):
        return number.replace(",", ".")
    return localised(number, *reversed(pair)) or number


def _joined(text: str, pair: tuple[str, str]) -> Iterator[Mapping[str, str]]:
    """How the target writes the numbers of each place where some stand beside each other."""
    for found in _JOINED.finditer(text):
        numbers = regex.findall(_ANY, found.group())
        written = {number: localised(number, *pair) for number in numbers}
        changed = {number: new for number, new in written.items() if new and new != number}
        if changed.keys().isdisjoint(changed.values()):
            yield changed


def _is_version(number: str, language: str) -> bool:
    """Whether a number may be a version or a section: of English 3.10, of German 1.2.3."""
    return number.count(",") == 0 and (language == "en" or not _GROUPED.fullmatch(number))
