"""The sentences of a section of German law, as English writes them: § 5 Abs. 2 S. 1 has sentence 1.
Networks make set of Satz, and page of S."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.markup.flow import MARK
from service.translation.sentence.replaced import Replacement

_SENTENCE = regex.compile(
    rf"(?<=(?:[§{MARK}]|\bAbs\.|\bAbsatz)\s?\d{{1,4}}[a-z]?\s)(?:S\.|Satz|Sätze)(?=\s?\d)"
)


def find_legal_sentences(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The words for them, behind a section or a paragraph and before a number."""
    if (source, target) == ("de", "en"):
        for found in _SENTENCE.finditer(text):
            word = "sentences" if found.group() == "Sätze" else "sentence"
            yield Replacement(*found.span(), word)
