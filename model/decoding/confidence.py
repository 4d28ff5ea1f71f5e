"""How sure a model is of a word and of a sentence: log-probabilities, calibrated on dev data.

A logistic function of a few features (Platt 1999) that cost nothing; `model.training.calibration`
fits its parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from model.values import shown

_LEAST_LOG_PROB = -20.0
_MOST_PARAMETER = 1e6
NUM_WORD_FEATURES = 5
NUM_SENTENCE_FEATURES = 6


class Calibration(NamedTuple):
    """The weights of `word_features` and of `sentence_features`, for one language pair."""

    word: tuple[float, ...]
    sentence: tuple[float, ...]

    @classmethod
    def from_dict(cls, values: Any) -> Calibration:
        """Check parsed JSON; raises ValueError."""
        if not isinstance(values, Mapping) or set(values) != set(cls._fields):
            raise ValueError(f"a calibration must have word and sentence, got {shown(values)}")
        sizes = {"word": NUM_WORD_FEATURES, "sentence": NUM_SENTENCE_FEATURES}
        for name, size in sizes.items():
            if not _are_parameters(values[name], size):
                raise ValueError(f"{name} must list {size} numbers, got {shown(values[name])}")
        return cls(tuple(values["word"]), tuple(values["sentence"]))

    def of_word(self, log_probs: Sequence[float], sentence_log_probs: Sequence[float]) -> float:
        """The probability (0 to 1) that a word with these tokens is right."""
        return probability(self.word, word_features(log_probs, sentence_log_probs))

    def of_sentence(self, log_probs: Sequence[float], num_source: int) -> float:
        """The probability (0 to 1) that a translation of `num_source` tokens is right."""
        return probability(self.sentence, sentence_features(log_probs, num_source))


def word_features(log_probs: Sequence[float], sentence_log_probs: Sequence[float]) -> list[float]:
    """1, the mean and the least log-probability of the word's tokens, the least probability, and
    the sentence's mean log-probability."""
    mean, least = _mean_and_least(log_probs)
    return [1.0, mean, least, math.exp(least), _mean_and_least(sentence_log_probs)[0]]


def sentence_features(log_probs: Sequence[float], num_source: int) -> list[float]:
    """1, the mean and the least log-probability of the tokens, the mean as a probability, the
    logarithm of the length ratio and its square."""
    mean, least = _mean_and_least(log_probs)
    ratio = math.log((len(log_probs) + 1) / (num_source + 1))
    return [1.0, mean, least, math.exp(mean), ratio, ratio * ratio]


def log_probs_inside(
    log_probs: Sequence[float], spans: Sequence[tuple[int, int]], start: int, end: int
) -> list[float]:
    """The log-probabilities of the tokens that overlap text[start:end]; `spans` has one entry per
    token, `log_probs` may have one more for the end of the sentence."""
    return [
        log_prob
        for log_prob, (first, last) in zip(log_probs, spans, strict=False)
        if first < end and start < last
    ]


def _mean_and_least(log_probs: Sequence[float]) -> tuple[float, float]:
    bounded = [max(log_prob, _LEAST_LOG_PROB) for log_prob in log_probs] or [0.0]
    return sum(bounded) / len(bounded), min(bounded)


def probability(weights: Sequence[float], features: Sequence[float]) -> float:
    """The logistic function of the weighted sum."""
    logit = sum(weight * feature for weight, feature in zip(weights, features, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


def _are_parameters(value: object, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(map(_is_parameter, value))


def _is_parameter(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_MOST_PARAMETER <= value <= _MOST_PARAMETER
