"""Carry kept strings, and numbers that were lost, through the network: each goes in as a carrier,
and its place comes out.

A carrier is something that the network copies: a reserved placeholder if the model has them,
otherwise a number of five digits, which networks copy more often than other spellings. A
translation must have the carrier of each kept string exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from model.text.reserved import placeholder
from service.translation.alignment import AlignmentLink
from service.translation.checks.dates import MONTHS
from service.translation.language.segmentation import is_spaced
from service.translation.markup.flow import MARK
from service.translation.placeholders import KeptStrings
from service.translation.sentence.first_letter import with_first_capital
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_NUMBERS = ("40713", "53826", "62941", "75183", "86352", "92475", "38164", "27598", "19637")
_MOST_NUMBERS = 6
_LEAST_BEGUN = 2
"""Characters of a kept string, not only letters, of which a beginning is known."""
_JOINED = regex.compile(r"[\p{Latin}\d_][:,;]")
_OPENING, _CLOSING = frozenset("<[{="), frozenset(">]}")
"""What a kept string ends and begins with that a space never parts from the word inside."""
_GENITIVE = regex.compile(r"s(?![\p{L}\p{N}'’])")
"""What German adds to a name."""
_DATE = regex.compile(rf"(?:{'|'.join(MONTHS['en'])}) \d")
_ARTICLE = regex.compile(r"(?<!\p{L})[Tt]he \Z")
"""Networks write it for German ones: since the January 1."""
_LONGEST_ARTICLE = len("The ")
_BEHIND_DATE = regex.compile(r"(?! ?\p{L}{4})")
"""No noun, as in the May 3 meeting."""
_TIGHT_COMMA = regex.compile(r",(?=\d)")
_HYPHEN = regex.compile(r"\p{L}-")
_BEFORE_PAUSE = regex.compile(r"[\p{L})\]]")
_PAUSES = frozenset(":,;")
"""Marks with a space after them where a language has spaces."""


class _Beside(NamedTuple):
    """What touches a slot before and after it: two letters of a word, a single letter, a digit, a
    mark, or ""."""

    before: str
    after: str


@dataclass(frozen=True)
class Carriers:
    """The stage of kept strings and numbers: the text with carriers, their spellings, one for each
    slot, and the kept strings as they read. `_slots`: marks, numbers and units of the sentence, and
    what takes their places in the translation; `_pair`: source and target language."""

    text: str
    spellings: Sequence[str]
    _slots: Sequence[Replacement]
    _marked: Replaced
    _pair: tuple[str, str]
    _kept: Sequence[str]
    _units: Sequence[Replacement]

    @property
    def marked(self) -> str:
        """The text with marks."""
        return self._marked.text

    @property
    def shown(self) -> list[str]:
        """What a reader sees in place of each carrier; "" for a mark without its string."""
        kept = iter(self._kept)
        return [
            slot.new.replace(MARK, next(kept, "")) if MARK in slot.new else slot.new
            for slot in self._slots
        ]

    def leave(self, draft: Draft) -> Draft | None:
        """The translation with marks and numbers for the carriers; None if the carrier of a mark or
        unit is lost, doubled or broken. What is kept may be a word or a sign of the translation
        too."""
        target = draft.text
        matches = list(_pattern(self.spellings).finditer(target))
        slots = [self._slots[self.spellings.index(match.group())] for match in matches]
        marks = [slot for slot in self._slots if MARK in slot.new]
        found = [slot for slot in slots if MARK in slot.new]
        units = [slot for slot in slots if slot in self._units]
        if sorted(found) != marks or sorted(units) != sorted(self._units):
            return None
        is_source_spaced, is_target_spaced = map(is_spaced, self._pair)
        shown = dict(zip(self._slots, self.shown, strict=True))
        before = [Replacement(0, 0, ""), *slots]
        replacements = [
            _replacement(
                target,
                match.span(),
                self._with_capital(slot.new)
                if is_target_spaced and not match.start()
                else slot.new,
                _beside(self.marked, slot, is_source_spaced, shown[slot]),
                is_padded=is_target_spaced or (is_source_spaced and slot.new == MARK),
                has_wide_marks=is_target_spaced
                and not (is_source_spaced or _is_joined(self.marked, slot)),
                is_listed=self.marked.startswith(", ", slot.end),
                is_apart=self.marked.endswith(" ", 0, slot.start),
                has_gap=self.marked.startswith("  ", slot.end),
                is_next=last.end == slot.start > 0,
            )
            for match, slot, last in zip(matches, slots, before, strict=False)
        ]
        marked = Replaced(target, replacements)
        moved = [
            *moved_links(draft.links, self._marked, marked),
            *_slot_links(slots, replacements, marked),
        ]
        order = [marks.index(slot) for slot in found]
        return draft._replace(text=marked.text, links=moved, order=order)

    def _with_capital(self, new: str) -> str:
        """What a translation begins with, with the first letter of a sentence."""
        return new if MARK in new else with_first_capital(new, self.marked)

    def carried(self, prefix: str) -> str:
        """The beginning of a translation with the carriers of what it has of the slots, also of a
        kept string that it ends inside."""
        prefix += self.completion(prefix)
        free: dict[str, list[str]] = {}
        for shown, spelling in zip(self.shown, self.spellings, strict=True):
            free.setdefault(shown, []).append(spelling)
        replacements = [Replacement(0, 0, "")]
        for span in KeptStrings(filter(None, free)).find(prefix):
            own = free[prefix[slice(*span)]]
            if own and span.start >= replacements[-1].end:
                replacements.append(Replacement(*span, own.pop(0)))
        return Replaced(prefix, replacements).text

    def completion(self, prefix: str) -> str:
        """The rest of the kept string that the beginning of a translation ends inside, or ""."""
        for kept in dict.fromkeys(self._kept):
            for length in range(len(kept) - 1, _LEAST_BEGUN - 1, -1):
                begun = kept[:length]
                if begun.isalpha():  # it may be another word
                    break
                if prefix.endswith(begun) and prefix.count(kept) < self._kept.count(kept):
                    return kept[length:]
        return ""

    def has_all(self, target: str) -> bool:
        """Whether a translation has each carrier, once or more often."""
        return {*_pattern(self.spellings).findall(target)} == {*self.spellings}

    def completed(self, target: str) -> str:
        """A translation with each carrier once: the first one counts, others leave with the space
        before them, and lost ones end it."""
        found: set[str] = set()
        parts, position = [], 0
        for match in _pattern(self.spellings).finditer(target):
            before, position = target[position : match.start()], match.end()
            is_first = match.group() not in found
            found.add(match.group())
            parts.append(before + match.group() if is_first else before.removesuffix(" "))
        parts.append(target[position:])
        lost = (one for one in self.spellings if one not in found)
        return " ".join(["".join(parts), *lost])


def most_carriers(text: str, num_reserved: int) -> int:
    """How many carriers of one text the network tells apart."""
    return num_reserved or min(_MOST_NUMBERS, len(_free_numbers(text)))


def enter_carriers(
    text: str,
    pair: tuple[str, str],
    num_reserved: int,
    kept: Sequence[str] = (),
    amounts: Sequence[Replacement] = (),
    units: Sequence[Replacement] = (),
) -> Carriers | None:
    """The stage that puts carriers in place of the marks of a sentence, and of the `amounts` and
    `units`; None if there are none, or more than `most_carriers`.

    `pair`: source and target language; `num_reserved`: the model's reserved placeholders; `kept`:
    the strings of the marks, as they read.
    """
    slots = _slots_of(text, [*amounts, *units])
    if not 0 < len(slots) <= most_carriers(text, num_reserved):
        return None
    spellings = _spellings(len(slots), text, num_reserved)
    carried, position, replacements = "", 0, []
    is_source_spaced = is_spaced(pair[0])
    is_padded = not num_reserved and not is_source_spaced
    for spelling, slot in zip(spellings, slots, strict=True):
        carried += text[position : slot.start]
        beside = _beside(text, slot, is_source_spaced)
        is_after_digit = not num_reserved and carried[-1:].isdigit()
        is_after_word = is_after_digit or (is_padded and carried[-1:].isalnum())
        before_pad = " " if len(beside.before) > 1 or is_after_word else ""
        is_before_digit = not num_reserved and beside.after.isdigit()
        is_before_word = is_before_digit or (is_padded and text[slot.end : slot.end + 1].isalnum())
        after_pad = " " if len(beside.after) > 1 or is_before_word else ""
        start = len(carried)
        carried += before_pad + spelling + after_pad
        replacements.append(Replacement(start, len(carried), text[slot.start : slot.end]))
        position = slot.end
    carried += text[position:]
    marked = Replaced(carried, replacements)
    return Carriers(carried, spellings, slots, marked, pair, kept, units)


def _slots_of(text: str, amounts: Sequence[Replacement]) -> list[Replacement]:
    """The marks and amounts of a sentence, in order; an amount may hold one mark."""
    held = {at for amount in amounts for at in range(amount.start, amount.end)}
    marks = (
        Replacement(at, at + 1, MARK)
        for at, char in enumerate(text)
        if char == MARK and at not in held
    )
    return sorted([*marks, *amounts])


def moved_links(
    links: Sequence[AlignmentLink], source: Replaced, target: Replaced
) -> Iterator[AlignmentLink]:
    """The links of words that are no carriers."""
    for start, end, target_start, target_end, weight in links:
        if not (source.touches(start, end) or target.touches(target_start, target_end)):
            yield AlignmentLink(
                source.offset(start),
                source.offset(end),
                target.offset(target_start),
                target.offset(target_end),
                weight,
            )


def _slot_links(
    slots: Sequence[Replacement], replacements: Sequence[Replacement], target: Replaced
) -> Iterator[AlignmentLink]:
    for slot, replacement in zip(slots, replacements, strict=True):
        before = len(replacement.new) - len(replacement.new.lstrip(" "))
        at = target.offset(replacement.start) + before
        yield AlignmentLink(slot.start, slot.end, at, at + len(slot.new), 1.0)


def _spellings(count: int, text: str, num_reserved: int) -> list[str]:
    if num_reserved:
        return [placeholder(number) for number in range(count)]
    return _free_numbers(text)[:count]


def _free_numbers(text: str) -> list[str]:
    return [number for number in _NUMBERS if number not in text]


def _pattern(spellings: Sequence[str]) -> regex.Pattern[str]:
    """The pattern of the carriers. A number inside a longer number does not match."""
    any_of = "|".join(map(regex.escape, spellings))
    return regex.compile(rf"(?<![0-9])(?:{any_of})(?![0-9])" if spellings[0].isdigit() else any_of)


def _beside(marked: str, slot: Replacement, is_spaced_language: bool, shown: str = "") -> _Beside:
    """What touches a slot, in which `shown` stands. A bracket belongs to what is inside."""
    before, after = marked[max(0, slot.start - 2) : slot.start], marked[slot.end : slot.end + 2]
    return _Beside(
        _touching(before, before[-1:], is_spaced_language, is_inside=shown[:1] in _CLOSING),
        _touching(after, after[:1], is_spaced_language, is_inside=shown[-1:] in _OPENING),
    )


def _is_joined(marked: str, slot: Replacement) -> bool:
    """Whether a colon joins a slot to a Latin word: name:{x}."""
    return _JOINED.fullmatch(marked, max(0, slot.start - 2), slot.start) is not None


def _touching(pair: str, char: str, is_spaced_language: bool, *, is_inside: bool) -> str:
    """The pair of characters beside a slot if it is of a word, else the one that touches it if that
    belongs there. Without spaces between words only digits and marks do, and a letter inside a
    bracket, which counts as a pair."""
    if is_inside and char.isalpha():
        return 2 * char
    if is_spaced_language and len(pair) == 2 and pair.isalpha():
        return pair
    belongs = char.isalnum() if is_spaced_language else char.isdigit()
    return char if belongs or char == MARK else ""


def _replacement(
    target: str,
    span: tuple[int, int],
    new: str,
    beside: _Beside,
    *,
    is_padded: bool,
    has_wide_marks: bool,
    is_listed: bool,
    is_apart: bool,
    has_gap: bool,
    is_next: bool,
) -> Replacement:
    """`new` in place of target[slice(*span)], with the spaces that it needs.

    A space is added where the translation has a letter or another carrier beside it and the source
    has none, and after a mark if the source `has_wide_marks`, or it `is_listed`: a comma and a
    space follow. The space between it and its digit or word is taken out, and a hyphen behind a
    word if a space was there, `is_apart`: networks write IBAN-⟦0⟧. Of two spaces behind it one goes
    unless the source `has_gap`, and one before it if it `is_next` to the number there."""
    start, end = span
    is_date = _DATE.match(new) is not None and _BEHIND_DATE.match(target, end) is not None
    if is_date or new[:4].lower() == "the ":
        article = _ARTICLE.search(target, max(0, start - _LONGEST_ARTICLE), start)
        start = article.start() if article else start
    before, after = target[max(0, start - 1) : start], target[end : end + 1]
    is_touched = before == "⟧" or (is_padded and before.isalnum())
    if has_wide_marks and before in _PAUSES:
        is_touched = _BEFORE_PAUSE.match(target, max(0, start - 2)) is not None
    if is_apart and _HYPHEN.match(target, max(0, start - 2), start):
        start, is_touched = start - 1, True
    left = " " if is_touched and not beside.before else ""
    is_parted = after.isalnum() and not (beside.after or _GENITIVE.match(target, end))
    right = " " if is_padded and is_parted else ""
    last = target[max(0, start - 2) : start - 1]
    is_beside_number = beside.before == MARK and last.isdigit()  # the carrier of the mark before
    is_number = new[:1].isdigit() if beside.before == MARK else beside.before.isdigit()
    is_beside_number = is_beside_number or (is_next and is_number and last == "⟧")
    if before == " " and (is_beside_number or _belongs(beside.before, last)):
        start -= 1
    if after == " " and _belongs(beside.after, target[end + 1 : end + 2]):
        end += 1
    elif is_listed and _TIGHT_COMMA.match(target, end):
        end, right = end + 1, ", "
    elif target.startswith("  ", end) and not has_gap:
        end += 1
    has_space = bool(left) or target[max(0, start - 1) : start] == " "
    return Replacement(start, end, f"{left}{new.removeprefix(' ') if has_space else new}{right}")


def _belongs(beside: str, char: str) -> bool:
    """Whether a character that a space parts from a carrier was beside the slot."""
    return char == beside if beside.isdigit() else len(beside) > 1 and char.isalpha()
