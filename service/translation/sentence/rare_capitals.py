"""Capital letters that the vocabulary spells in bytes, such as Ö in Öffnen: the network reads the
small one, and words that it copies get the capital again. Names such as Özil are kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from service.translation.language.short_texts import ShortTexts
from service.translation.sentence.capitals import in_small_letters
from service.translation.sentence.stages import Draft

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_WORD = regex.compile(r"[\p{L}\p{M}]+")
_WITHOUT = frozenset({"en", "zh"})
"""Languages that have no such letters: words with them are names, which are kept."""
_LEAST_CHARACTERS = 1.6
"""Of a piece in words of the language: Özil has 1, Ökologie 2."""


@dataclass(frozen=True)
class RareCapitals:
    """The stage of a sentence with such letters: `text` as the network reads it, and as it is
    written."""

    text: str
    _written: str

    def leave(self, draft: Draft) -> Draft:
        """The translation, of the same length."""
        written = self._written_words()
        text = _WORD.sub(lambda word: next(written.get(word[0], iter(())), word[0]), draft.text)
        return draft._replace(text=text)

    def _written_words(self) -> dict[str, Iterator[str]]:
        """How the source writes each word that it writes otherwise than the network reads it, in
        order; the last one again and again."""
        found: dict[str, list[str]] = {}
        for word in _WORD.finditer(self.text):
            found.setdefault(word[0], []).append(self._written[slice(*word.span())])
        return {
            read: itertools.chain(words, itertools.repeat(words[-1]))
            for read, words in found.items()
            if any(word != read for word in words)
        }


def enter_rare_capitals(text: str, tokenizer: Tokenizer, language: str) -> RareCapitals | None:
    """The stage of a sentence; None without such letters."""
    read = without_rare_capitals(text, tokenizer, language)
    return RareCapitals(read, text) if read != text else None


def without_rare_capitals(text: str, tokenizer: Tokenizer, language: str) -> str:
    """The text as the network reads it, of the same length."""
    if text.isascii() or language in _WITHOUT or not tokenizer.count_unspelled(text):
        return text
    return _WORD.sub(lambda word: _known(word[0], tokenizer, language), text)


def _known(word: str, tokenizer: Tokenizer, language: str) -> str:
    """The word with a small letter for each such capital, if the network knows it then."""
    if word.isascii() or not tokenizer.count_unspelled(word):
        return word
    small = in_small_letters(word)
    if tokenizer.count_unspelled(small) or not _is_known(small, tokenizer, language):
        return word
    return "".join(
        char if char.isascii() or not tokenizer.count_unspelled(char) else low
        for char, low in zip(word, small, strict=True)
    )


def _is_known(word: str, tokenizer: Tokenizer, language: str) -> bool:
    """Whether the word is a usual one, or made of longer pieces than a name."""
    (pieces,) = tokenizer.encode_source_batch([word])
    is_usual = ShortTexts.load().frequency(word, language) > 0
    return is_usual or len(word) >= _LEAST_CHARACTERS * len(pieces)
