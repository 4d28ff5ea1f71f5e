"""The stage of words and numbers for which others go in, which the network knows better: what it
copies is written again as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from model.text.spans import Span, disjoint
from service.translation.language.chinese import HAN
from service.translation.language.segmentation import has_letters
from service.translation.sentence.numbers_of import LETTERS
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft


@dataclass(frozen=True)
class Spelled:
    """The stage of a sentence with such words and numbers: the text with others for them, where
    these are, and how the sentence is written."""

    text: str
    _words: Mapping[Span, str]
    _numbers: Mapping[Span, str]
    _written: Replaced
    _ends_label: bool = False

    def leave(self, draft: Draft) -> Draft:
        """The translation. If it copies all the words, they are abbreviations again; numbers only
        if it copies the text, which is not all digits, nor a sign for all that was Chinese: 5g.
        Otherwise the point goes that is only of the last abbreviation."""
        copies = self._copies(draft.text)
        if not copies and self._ends_label and draft.text.endswith((".", "。")):
            copies = [Replacement(len(draft.text) - 1, len(draft.text), "")]
        return draft.replaced(Replaced(draft.text, copies), self._written)

    def _copies(self, target: str) -> list[Replacement]:
        has_same_letters = HAN.search(target) or not HAN.search(self._written.text)
        if target == self.text and has_letters(target) and has_same_letters:
            spans = sorted({**self._words, **self._numbers}.items())
            return [Replacement(*span, short) for span, short in spans]
        if not self._words:
            return []
        words = "|".join({regex.escape(self.text[slice(*span)]) for span in self._words})
        pattern = regex.compile(rf"(?<![{LETTERS}])(?:{words})(?![{LETTERS}])")
        source, copies = list(pattern.finditer(self.text)), list(pattern.finditer(target))
        if [word.group() for word in source] != [copy.group() for copy in copies]:
            return []
        pairs = zip(source, copies, strict=True)
        written = ((self._words.get(Span(*word.span())), copy) for word, copy in pairs)
        return [
            Replacement(*copy.span(), short.removesuffix("." * target.startswith(".", copy.end())))
            for short, copy in written
            if short is not None
        ]


def spell(text: str, found: Sequence[Replacement], numbers: Sequence[Replacement] = ()) -> Spelled:
    """The stage of a text with other words for what was `found`, and for `numbers`. Of two that
    share a place the first counts, and numbers before others."""
    replaced = disjoint([*numbers, *found])
    spelled = Replaced(text, replaced)
    back = [Replacement(*spelled.span(start, end), text[start:end]) for start, end, _ in replaced]
    words, counts = (
        {Span(*spelled.span(*one[:2])): text[slice(*one[:2])] for one in replaced if one in some}
        for some in (set(found), set(numbers))
    )
    return Spelled(spelled.text, words, counts, Replaced(spelled.text, back))
