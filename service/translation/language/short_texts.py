"""Probabilities of a short text's languages, from word counts and the scores of a detector.

fastText sees too little of `hallo` or `Was?`. A table has the frequencies of common words and
letter trigrams in some languages; a conditional logit weighs them against fastText's scores. The
table and the weights are made by `python -m recipes.short_texts data`: counted on training texts,
fitted on dev texts.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import regex

FILE = "short_texts.json.gz"
OTHER = "other"
MAX_WORDS, MAX_CHARACTERS = 6, 80
_WORD = regex.compile(r"\p{Han}|[\p{Latin}\p{M}]+(?:['’][\p{Latin}\p{M}]+)*")
_OTHER_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Han}--\p{Latin}]")
_LEAST_SCORE = 1e-3
_FIRST_HAN = "\u2e80"
_ZERO = 64


def words_of(text: str) -> list[str]:
    """The words in Latin letters, in lower case, and the Chinese characters."""
    return [match.group() for match in _WORD.finditer(text.lower())]


def trigrams_of(word: str) -> list[str]:
    """The letter trigrams of a word in Latin letters, with marks for its start and end."""
    marked = f"^{word}$"
    return [marked[place : place + 3] for place in range(len(marked) - 2)]


def packed(numbers: Sequence[float]) -> str:
    """A letter for each number, by its tenths: JSON reads strings sooner than numbers."""
    return "".join(chr(_ZERO + round(number * 10)) for number in numbers)


def _unpacked(letters: str) -> list[float]:
    return [(ord(letter) - _ZERO) / 10 for letter in letters]


@dataclass(frozen=True)
class ShortTexts:
    """`words`: the `frequency` of each word in each language, as of `packed`. `trigrams`: the same
    of trigrams, `other` languages included, and `rare` of one that is not in the table. `weights`:
    of the features."""

    languages: Sequence[str]
    words: Mapping[str, str]
    trigrams: Mapping[str, str]
    rare: str
    weights: Sequence[float]

    @classmethod
    @functools.cache
    def load(cls) -> ShortTexts:
        """The table of this package, read once."""
        table = resources.files("service.translation.language").joinpath(FILE).read_bytes()
        return cls(**json.loads(gzip.decompress(table)))

    def frequency(self, word: str, language: str) -> float:
        """The binary logarithm of 1 + the word's frequency per million words of a language; 0 for a
        word that is not in the table."""
        letters = self.words.get(word)
        return _unpacked(letters)[self.languages.index(language)] if letters else 0.0

    def probabilities(self, text: str, scores: Mapping[str, float]) -> Mapping[str, float]:
        """The probability of each language, given fastText's scores (they sum to 1); the scores
        themselves unless the text is short and in Latin letters or Chinese characters."""
        features = self.features(text, scores)
        if features is None:
            return scores
        odds = {
            language: math.exp(sum(map(float.__mul__, self.weights, values)))
            for language, values in features.items()
        }
        total = sum(odds.values())
        others = {code: score for code, score in scores.items() if code not in self.languages}
        share = odds[OTHER] / total / max(sum(others.values()), _LEAST_SCORE)
        known = {code: odds.get(code, 0.0) / total for code in self.languages}
        return known | {code: score * share for code, score in others.items()}

    def can_tell(self, text: str) -> bool:
        """Whether the text is short, and in Latin letters or Chinese characters."""
        if len(text) > MAX_CHARACTERS or _OTHER_LETTER.search(text):
            return False
        return 0 < len(words_of(text)) <= MAX_WORDS

    def share_unknown(self, text: str) -> float:
        """The share of the text's words that are not in the table."""
        words = words_of(text)
        return sum(word not in self.words for word in words) / len(words)

    def features(
        self, text: str, scores: Mapping[str, float]
    ) -> Mapping[str, Sequence[float]] | None:
        """The features of each language that the text's script allows, and of "other"; None if the
        table says nothing of the text."""
        if not self.can_tell(text):
            return None
        words = words_of(text)
        likely = self._trigram_evidence(words)
        known = {language: scores.get(language, 0.0) for language in self.languages}
        allowed = [code for code in self.languages if _is_written(code, words)]
        features = {}
        for code in (*allowed, OTHER):
            score = known.get(code, 1.0 - sum(known.values()))
            features[code] = [
                math.log(max(score, _LEAST_SCORE)),
                self._word_evidence(words, code),
                self._share_unknown(words) if code == OTHER else 0.0,
                likely.get(code, 0.0),
                *(float(code == language) for language in self.languages),
            ]
        return features

    def _word_evidence(self, words: Sequence[str], code: str) -> float:
        if code == OTHER:
            return 0.0
        return sum(self.frequency(word, code) for word in words) / math.sqrt(len(words))

    def _share_unknown(self, words: Sequence[str]) -> float:
        return sum(word not in self.words for word in words) / math.sqrt(len(words))

    def _trigram_evidence(self, words: Sequence[str]) -> dict[str, float]:
        """By how much the trigrams speak for each language, compared with the mean."""
        found = [
            _unpacked(self.trigrams.get(trigram, self.rare))
            for word in words
            if word < _FIRST_HAN
            for trigram in trigrams_of(word)
        ]
        if not found:
            return {}
        names = (*self.languages, OTHER)
        sums = [sum(column) / math.sqrt(len(found)) for column in zip(*found, strict=True)]
        latin = [place for place, name in enumerate(names) if name != "zh"]
        mean = sum(sums[place] for place in latin) / len(latin)
        return {names[place]: sums[place] - mean for place in latin}


def _is_written(code: str, words: Sequence[str]) -> bool:
    """Whether a text with these words can be in the language: Chinese has Chinese characters."""
    has_han = any(word >= _FIRST_HAN for word in words)
    return has_han if code == "zh" else any(word < _FIRST_HAN for word in words)
