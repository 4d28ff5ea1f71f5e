"""German that is typed without umlauts, as fuer and Strasse: the network knows für and Straße."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import regex

from service.translation.sentence.replaced import Replacement
from service.translation.sentence.spelled import Spelled, spell

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_VOWEL = r"(?:[aoAO]e|(?<![aeqAEQ])[uU]e)"
"""Of neue, Frauen and Quelle ue is no ü."""
_WORD = regex.compile(rf"(?<![A-Za-z])[A-Za-z]*?(?:{_VOWEL}|ss)[A-Za-z]*+")
_TYPED_VOWEL = regex.compile(_VOWEL)
_UMLAUTS = dict(zip(("ae", "oe", "ue", "Ae", "Oe", "Ue"), "äöüÄÖÜ", strict=True))
_LETTERS = frozenset("äöüÄÖÜß")


def enter_umlauts(text: str, tokenizer: Tokenizer, language: str) -> Spelled | None:
    """The stage of a German sentence without umlauts, which has words that are one piece of the
    vocabulary with them and several as typed; None without."""
    if language != "de" or not _LETTERS.isdisjoint(text):
        return None
    found = [*_typed_words(text, tokenizer)]
    return spell(text, found) if found else None


def _typed_words(text: str, tokenizer: Tokenizer) -> Iterator[Replacement]:
    words = [*_WORD.finditer(text)]
    for word, ids in zip(words, tokenizer.encode_source_batch([w[0] for w in words]), strict=True):
        meant = _meant(word[0]) if len(ids) > 1 else []
        pieces = tokenizer.encode_source_batch(meant)
        known = (one for one, ids in zip(meant, pieces, strict=True) if len(ids) == 1)
        if (new := next(known, None)) is not None:
            yield Replacement(word.start(), word.end(), new)


def _meant(word: str) -> list[str]:
    """What a word may be with umlauts and ß, the likeliest first."""
    with_umlauts = _TYPED_VOWEL.sub(lambda vowel: _UMLAUTS[vowel[0]], word)
    return ["ß".join(with_umlauts.rsplit("ss", 1)), with_umlauts, "ß".join(word.rsplit("ss", 1))]
