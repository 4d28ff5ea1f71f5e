"""How sure the model is of a sentence and of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from model.decoding.confidence import Calibration, log_probs_inside
from model.text.words import has_word_characters, words

_DECIMALS = 3


class WordConfidence(NamedTuple):
    """The probability (0 to 1) that target[target_start:target_end] is right; offsets in code
    points."""

    target_start: int
    target_end: int
    confidence: float


@dataclass(frozen=True)
class SentenceConfidence:
    """The probability (0 to 1) that a translation is right, and that each of its words is."""

    sentence: float
    words: list[WordConfidence]


def rate(
    calibration: Calibration,
    target: str,
    spans: Sequence[tuple[int, int]],
    log_probs: Sequence[float],
    num_source_tokens: int,
) -> SentenceConfidence:
    """Rate a translation whose tokens have these spans in `target` and log-probabilities.

    Punctuation is not rated.
    """
    rated = []
    for start, end in words(target, spans):
        if has_word_characters(target[start:end]):
            inside = log_probs_inside(log_probs, spans, start, end)
            confidence = calibration.of_word(inside, log_probs)
            rated.append(WordConfidence(start, end, round(confidence, _DECIMALS)))
    whole = calibration.of_sentence(log_probs, num_source_tokens)
    return SentenceConfidence(round(whole, _DECIMALS), rated)
