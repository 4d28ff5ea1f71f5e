"""Chinese in the characters that the network does not know: it reads and writes simplified ones.

It does not know the words of Taiwan either, such as 滑鼠, and reads those of the mainland.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex

from service.translation.language import chinese
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_QUOTATION_MARKS = str.maketrans("“”", "「」")
"""Of simplified Chinese, and of traditional."""
_HAN = regex.compile(r"\p{Han}+")
_CONTEXT = 4
"""Characters beside a word that may be in pieces with it."""


@dataclass(frozen=True)
class Script:
    """The stage of a sentence in other characters than its translation, or than the network knows:
    `text` as the network reads it, and as it is written. `_is_traditional`: the translation is."""

    text: str
    _written: str
    _places: Replaced
    """Where the network's text is in what is written."""
    _is_traditional: bool

    def leave(self, draft: Draft) -> Draft:
        """The translation in the target's characters; what it copies is as the source writes it."""
        copies = [] if self._is_traditional else [*self._copies(draft.text)]
        copied = Replaced(draft.text, copies)
        text = copied.text
        if self._is_traditional:
            text = chinese.to_traditional(text).translate(_QUOTATION_MARKS)
        return draft.replaced(copied, self._places)._replace(text=text)

    def _copies(self, target: str) -> Iterator[Replacement]:
        position = 0
        for copy in _HAN.finditer(target):
            start = self.text.find(copy.group(), position)
            if start >= 0:
                position = start + len(copy.group())
                written = self._written[slice(*self._places.span(start, position))]
                yield from _characters(Replacement(*copy.span(), written))


def enter_script(
    text: str, *, is_traditional: bool, reads_traditional: bool, count: Callable[[str], int]
) -> Script | None:
    """The stage of a sentence, if it needs one. `is_traditional`: its translation is to be;
    `reads_traditional`: it is known to be; `count`: the network's pieces of a text."""
    simplified = chinese.to_simplified(text)
    has_words = reads_traditional or (simplified != text and chinese.is_traditional(text))
    words = [*_words(text, simplified, count)] if has_words else []
    if not words and not is_traditional and simplified == text:
        return None
    read = Replaced(simplified, words)
    back = [Replacement(*read.span(start, end), simplified[start:end]) for start, end, _ in words]
    return Script(read.text, text, Replaced(read.text, back), is_traditional)


def _words(text: str, simplified: str, count: Callable[[str], int]) -> Iterator[Replacement]:
    """The words of Taiwan in the simplified text, and those of the mainland for them if the network
    knows these better: 程序 is a word of both, but another one in Taiwan."""
    for run in _HAN.finditer(text):
        own, usual = simplified[slice(*run.span())], chinese.to_mainland(run.group())
        if usual == own or not _HAN.fullmatch(usual):
            continue
        for start, end, new in _differences(own, usual):
            before, after = own[max(0, start - _CONTEXT) : start], own[end : end + _CONTEXT]
            if count(before + new + after) < count(before + own[start:end] + after):
                yield Replacement(run.start() + start, run.start() + end, new)


def _differences(text: str, other: str) -> Iterator[Replacement]:
    """What makes another text of a text; one part of it if the lengths differ."""
    if len(text) == len(other):
        places = itertools.groupby(range(len(text)), key=lambda place: text[place] == other[place])
        for is_same, group in places:
            if not is_same:
                first, *others = group
                end = first + len(others) + 1
                yield Replacement(first, end, other[first:end])
        return
    start = _num_common(text, other)
    end = _num_common(text[start:][::-1], other[start:][::-1])
    if start + end == min(len(text), len(other)):  # nothing would be replaced, or by nothing
        start, end = (start - 1, end) if start else (start, end - 1)
    yield Replacement(start, len(text) - end, other[start : len(other) - end])


def _num_common(text: str, other: str) -> int:
    """The number of characters with which both begin."""
    pairs = zip(text, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _characters(replaced: Replacement) -> Iterator[Replacement]:
    """Each character by itself, if there are as many as before."""
    start, end, new = replaced
    if len(new) == end - start:
        yield from (Replacement(start + n, start + n + 1, char) for n, char in enumerate(new))
    else:
        yield replaced
