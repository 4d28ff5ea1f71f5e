"""Carry kept strings through the network: each goes in as a carrier, and its place comes out.

A carrier is something that the network copies: a reserved placeholder if the model has them,
otherwise a number of five digits. Of the spellings measured, these numbers are copied most often
(docs/markup.md). A translation that does not have every carrier exactly once is rejected.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from model.text.reserved import placeholder
from service.translation.alignment import AlignmentLink
from service.translation.language.segmentation import is_spaced
from service.translation.markup.flow import MARK

_NUMBERS = ("40713", "53826", "62941", "75183", "86352", "92475", "38164", "27598", "19637")
_MOST_NUMBERS = 6
_BRACKETS = regex.compile("[⟦⟧]")


class MarkedTranslation(NamedTuple):
    """A sentence's translation with a MARK for each kept string. `order`: for each MARK the index
    of its string in the source. `links` are between the source with marks and this text."""

    text: str
    order: Sequence[int] = ()
    links: Sequence[AlignmentLink] = ()


class _Replacement(NamedTuple):
    """text[start:end], to be replaced by `new`."""

    start: int
    end: int
    new: str


class _Beside(NamedTuple):
    """What touches a mark before and after it: a character of a word, or ""."""

    before: str
    after: str


class _Replaced:
    """A text with parts replaced, and where its offsets have moved."""

    def __init__(self, text: str, replacements: Sequence[_Replacement]) -> None:
        self._starts = [replacement.start for replacement in replacements]
        self._ends = [replacement.end for replacement in replacements]
        growth = (len(s.new) - (s.end - s.start) for s in replacements)
        self._growth = [0, *itertools.accumulate(growth)]
        between = map(slice, [0, *self._ends], [*self._starts, len(text)])
        kept = [text[part] for part in between]
        news = [*(replacement.new for replacement in replacements), ""]
        self.text = "".join(part for pair in zip(kept, news, strict=True) for part in pair)

    def offset(self, offset: int) -> int:
        """The new offset of one that is not inside a replacement."""
        return offset + self._growth[bisect.bisect_right(self._ends, offset)]

    def touches(self, start: int, end: int) -> bool:
        """Whether old text[start:end] overlaps a replacement."""
        index = bisect.bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] < end


@dataclass(frozen=True)
class CarriedText:
    """A sentence's text as the network gets it. `spellings` has the carrier of each mark."""

    text: str
    spellings: Sequence[str] = ()
    _marked: _Replaced | None = None

    @property
    def marked(self) -> str:
        """The text with marks."""
        return self.text if self._marked is None else self._marked.text

    def restore(
        self, target: str, links: Sequence[AlignmentLink], source_language: str, language: str
    ) -> MarkedTranslation | None:
        """The translation with marks for the carriers, in its `language`; None if a carrier is
        lost, doubled or broken."""
        if self._marked is None:
            return MarkedTranslation(target, (), links)
        found = list(_pattern(self.spellings).finditer(target))
        order = [self.spellings.index(match.group()) for match in found]
        if sorted(order) != list(range(len(self.spellings))):
            return None
        beside = _beside_marks(self._marked.text, is_spaced(source_language))
        is_padded = is_spaced(language)
        replacements = [
            _replacement(target, match.span(), beside[index], is_padded=is_padded)
            for match, index in zip(found, order, strict=True)
        ]
        marked = _Replaced(target, replacements)
        if _BRACKETS.search(marked.text):
            return None
        moved = [
            *_moved_links(links, self._marked, marked),
            *_mark_links(self._marked, marked, order),
        ]
        return MarkedTranslation(marked.text, order, moved)


def carry(text: str, language: str, num_reserved: int) -> CarriedText | None:
    """Put carriers in place of the marks of a sentence in this language; None if there are more
    than the network tells apart. `num_reserved`: the model's reserved placeholders."""
    if MARK not in text:
        return CarriedText(text)
    spellings = _spellings(text.count(MARK), text, num_reserved)
    if spellings is None:
        return None
    parts = text.split(MARK)
    carried, replacements = parts[0], []
    is_padded = not num_reserved and not is_spaced(language)
    for spelling, after in zip(spellings, parts[1:], strict=True):
        before_pad = " " if is_padded and carried[-1:].isalnum() else ""
        after_pad = " " if is_padded and after[:1].isalnum() else ""
        start = len(carried)
        carried += before_pad + spelling + after_pad
        replacements.append(_Replacement(start, len(carried), MARK))
        carried += after
    return CarriedText(carried, spellings, _Replaced(carried, replacements))


def longest_spelling(num_reserved: int) -> str:
    """A carrier of the longest spelling."""
    return placeholder(num_reserved - 1) if num_reserved else _NUMBERS[0]


def mark_offsets(text: str) -> Iterator[int]:
    """Where the marks of a text are."""
    return (offset for offset, char in enumerate(text) if char == MARK)


def _moved_links(
    links: Sequence[AlignmentLink], source: _Replaced, target: _Replaced
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


def _mark_links(
    source: _Replaced, target: _Replaced, order: Sequence[int]
) -> Iterator[AlignmentLink]:
    source_marks = list(mark_offsets(source.text))
    for at, index in zip(mark_offsets(target.text), order, strict=True):
        start = source_marks[index]
        yield AlignmentLink(start, start + 1, at, at + 1, 1.0)


def _spellings(count: int, text: str, num_reserved: int) -> list[str] | None:
    if count <= num_reserved:
        return [placeholder(number) for number in range(count)]
    if num_reserved or count > _MOST_NUMBERS:
        return None
    numbers = [number for number in _NUMBERS if number not in text]
    return numbers[:count] if count <= len(numbers) else None


def _pattern(spellings: Sequence[str]) -> regex.Pattern[str]:
    """What finds the carriers. A number is none within a longer one."""
    any_of = "|".join(map(regex.escape, spellings))
    return regex.compile(rf"(?<![0-9])(?:{any_of})(?![0-9])" if spellings[0].isdigit() else any_of)


def _beside_marks(marked: str, is_spaced_language: bool) -> list[_Beside]:
    """What touches each mark. Without spaces between words only digits belong to a mark."""
    belongs = str.isalnum if is_spaced_language else str.isdigit
    found = []
    for at in mark_offsets(marked):
        before, after = marked[max(0, at - 1) : at], marked[at + 1 : at + 2]
        found.append(_Beside(before if belongs(before) else "", after if belongs(after) else ""))
    return found


def _replacement(
    target: str, span: tuple[int, int], beside: _Beside, *, is_padded: bool
) -> _Replacement:
    """The mark for target[slice(*span)]: with a space where the translation has a letter beside it
    and the source none, without the space that parts it from its digit."""
    start, end = span
    before, after = target[max(0, start - 1) : start], target[end : end + 1]
    left = " " if is_padded and before.isalnum() and not beside.before else ""
    right = " " if is_padded and after.isalnum() and not beside.after else ""
    if beside.before.isdigit() and target[max(0, start - 2) : start] == f"{beside.before} ":
        start -= 1
    if beside.after.isdigit() and target[end : end + 2] == f" {beside.after}":
        end += 1
    return _Replacement(start, end, f"{left}{MARK}{right}")
