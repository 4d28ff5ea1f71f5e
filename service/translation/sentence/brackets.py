"""Brackets that networks do not close, close without any that opens, or write with a space
inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from model.text.spans import Span
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_BRACKET = regex.compile(r"[()（）]")
_CLOSING = {"(": ")", "（": "）"}
_SPACE = regex.compile(r"(?<=[(（]) (?! )|(?<! ) (?=[)）])")
_SPACE_OR_MARK = regex.compile(r"[(（][\s,.;，。；、]|[\s,;，；、][)）]")
"""Beside a bracket in a text that tells of brackets, or sets them apart."""
_WORD = regex.compile(r"[\p{L}\p{N}]++")
_AFTER_LAST = regex.compile(r"[.。!！?？:：;；,，]?[\"”“»」]?\Z")
_STOPS = frozenset(".。!！?？…")
_STOP = regex.compile(r"[.。!！?？:：;；,，](?=[\"”“»」]?\Z)")


@dataclass(frozen=True)
class Brackets:
    """The stage of a sentence with brackets, which go in as they are."""

    text: str
    _pairs: tuple[Span, ...]

    def leave(self, draft: Draft) -> Draft:
        """The translation with each bracket that opens closed once, if it is clear where."""
        return draft.changed(sorted({*self._changes(draft.text)}))

    def _changes(self, translation: str) -> Iterator[Replacement]:
        if not _SPACE_OR_MARK.search(self.text):
            yield from (Replacement(*one.span(), "") for one in _SPACE.finditer(translation))
        pairs, opening, closing = _matched(translation)
        if len(opening) == 1 and not closing:
            place = self._end(translation, opening[0], pairs)
            if place:
                yield Replacement(place, place, _CLOSING[translation[opening[0]]])
        elif len(closing) == 1 and not opening:
            at = closing[0]
            is_doubled = translation[:at].endswith((")", "）")) and "))" not in self.text
            if is_doubled or len(pairs) >= len(self._pairs):
                yield Replacement(at, at + 1, "")

    def _end(self, translation: str, opening: int, pairs: list[Span]) -> int:
        """Where the bracket that opens there ends; 0 if that is not clear."""
        rank = sum(pair.start < opening for pair in pairs)
        if len(pairs) + 1 != len(self._pairs):
            rank = -1 if rank == len(pairs) else len(self._pairs)
        if rank >= len(self._pairs):
            return 0
        start, end = self._pairs[rank]
        if _AFTER_LAST.match(self.text, end):
            return closing_place(self.text[end - 2], translation)
        words = [*_WORD.finditer(self.text, start, end)]
        if not words:
            return 0
        place = _end_of(words[-1][0], translation, opening)
        sign = self.text[words[-1].end() : end - 1].strip()
        return place + len(sign) if place and translation.startswith(sign, place) else 0


def enter_brackets(text: str) -> Brackets | None:
    """The stage of a sentence in which all brackets are in pairs; None without."""
    pairs, opening, closing = _matched(text)
    return Brackets(text, tuple(sorted(pairs))) if pairs and not (opening or closing) else None


def closing_place(before: str, translation: str) -> int:
    """Where a mark that ends a sentence ends its translation: before the last stop, unless what
    stands before it in the sentence is one."""
    stop = None if before in _STOPS else _STOP.search(translation)
    return stop.start() if stop else len(translation)


def _end_of(word: str, text: str, opening: int) -> int:
    """Where a word ends that stands behind the bracket that opens there, before any other; 0
    without."""
    end = text.find(word, opening) + len(word)
    is_whole = not (text[end - len(word) - 1].isalnum() or text[end : end + 1].isalnum())
    is_found = (
        end > opening + len(word) and is_whole and not _BRACKET.search(text, opening + 1, end)
    )
    return end if is_found else 0


def _matched(text: str) -> tuple[list[Span], list[int], list[int]]:
    """The brackets in pairs, and where those are that only open, and only close."""
    pairs: list[Span] = []
    opening: list[int] = []
    closing: list[int] = []
    for found in _BRACKET.finditer(text):
        if found[0] in _CLOSING:
            opening.append(found.start())
        elif opening:
            pairs.append(Span(opening.pop(), found.end()))
        else:
            closing.append(found.start())
    return pairs, opening, closing
