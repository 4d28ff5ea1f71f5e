"""Fit the confidence of words and sentences to what the references say.

A word is right if it occurs in the reference translation, in any case, and there at least as often
as in the translation so far. A sentence is right if its chrF is at least 50. Both are strict: a
good word that the reference says otherwise counts as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF

from model.checkpoint import Checkpoint
from model.confidence import Calibration, log_probs_inside, sentence_features, word_features
from model.text.tokenizer import Tokenizer
from model.text.words import has_word_characters, is_unspaced, words
from model.training.dev_translations import DevTranslation

LEAST_CHRF = 50.0
_RIDGE = 1.0
_STEPS = 30
Vector = NDArray[np.float64]


class Example(NamedTuple):
    """The features of a word or a sentence, and whether it is right."""

    features: list[float]
    is_right: bool


def fit(checkpoint: Checkpoint, translations: Sequence[DevTranslation]) -> Calibration | None:
    """The calibration of one direction; None without a word."""
    examples = [word for t in translations for word in word_examples(checkpoint.tokenizer, t)]
    sentences = [sentence_example(checkpoint.tokenizer, t) for t in translations]
    if not examples:
        return None
    return Calibration(fitted(examples), fitted(sentences))


def word_examples(tokenizer: Tokenizer, translation: DevTranslation) -> Iterator[Example]:
    """The words of a translation that have a letter or a digit."""
    best, text = translation.best, tokenizer.decode(translation.best.ids)
    spans = tokenizer.target_spans(best.ids)
    reference = _Reference(translation.reference)
    for start, end in words(text, spans):
        if has_word_characters(text[start:end]):
            log_probs = log_probs_inside(best.log_probs, spans, start, end)
            features = word_features(log_probs, best.log_probs)
            yield Example(features, reference.has_another(text[start:end]))


def sentence_example(tokenizer: Tokenizer, translation: DevTranslation) -> Example:
    best = translation.best
    chrf = CHRF().sentence_score(tokenizer.decode(best.ids), [translation.reference]).score
    features = sentence_features(best.log_probs, len(translation.ids))
    return Example(features, chrf >= LEAST_CHRF)


class _Reference:
    """The words of a reference that no word of the translation has taken yet."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        self._left = Counter(self._text[start:end] for start, end in words(self._text, []))

    def has_another(self, word: str) -> bool:
        """Take a word, if it is there. Where a script has no spaces, any stretch is a word."""
        word = word.casefold()
        if is_unspaced(word):
            before, found, after = self._text.partition(word)
            self._text = f"{before} {after}"
            return bool(found)
        self._left[word] -= 1
        return self._left[word] >= 0


def fitted(examples: Sequence[Example]) -> tuple[float, ...]:
    """Logistic regression by Newton's method, with a small penalty on large weights. There must be
    an example."""
    x = np.array([example.features for example in examples])
    y = np.array([example.is_right for example in examples], np.float64)
    weights: Vector = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-(x @ weights).clip(-30, 30)))
        gradient = x.T @ (p - y) + _RIDGE * weights
        curvature = (x.T * (p * (1 - p))) @ x + _RIDGE * np.eye(x.shape[1])
        weights = weights - np.linalg.solve(curvature, gradient)
    return tuple(round(float(weight), 5) for weight in weights)
