"""Confidence is a probability that falls with the log-probabilities; its parameters are checked."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.decoding.confidence import (
    NUM_SENTENCE_FEATURES,
    NUM_WORD_FEATURES,
    Calibration,
    log_probs_inside,
    sentence_features,
    word_features,
)

CALIBRATION = Calibration((1.0, 0.5, 0.5, 1.0, 0.5), (1.0, 1.0, 0.2, 1.0, 0.0, -1.0))
LOG_PROBS = st.lists(st.floats(max_value=0.0), max_size=8)


@given(LOG_PROBS, LOG_PROBS, st.integers(0, 10**6))
def test_confidence_is_a_probability_whatever_the_scores(
    word: list[float], sentence: list[float], num_source: int
) -> None:
    """Also without tokens, and with a log-probability of minus infinity."""
    assert 0.0 <= CALIBRATION.of_word(word, sentence) <= 1.0
    assert 0.0 <= CALIBRATION.of_sentence(sentence, num_source) <= 1.0
    assert len(word_features(word, sentence)) == NUM_WORD_FEATURES
    assert len(sentence_features(sentence, num_source)) == NUM_SENTENCE_FEATURES


def test_unlikely_tokens_lower_confidence() -> None:
    rated = [CALIBRATION.of_word([-0.1, score], [-0.3] * 4) for score in (-0.1, -1.0, -5.0)]
    assert rated == sorted(rated, reverse=True)
    rated = [CALIBRATION.of_sentence([-0.1, score], 3) for score in (-0.1, -1.0, -5.0)]
    assert rated == sorted(rated, reverse=True)


def test_a_words_tokens_are_those_that_overlap_it() -> None:
    spans = [(0, 3), (3, 5), (0, 0), (6, 9)]
    log_probs = [-1.0, -2.0, -3.0, -4.0, -5.0]
    assert log_probs_inside(log_probs, spans, 0, 5) == [-1.0, -2.0]
    assert log_probs_inside(log_probs, spans, 4, 7) == [-2.0, -4.0]
    assert log_probs_inside(log_probs, spans, 5, 6) == []


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {"word": [0.0] * 5},
        {"word": [0.0] * 4, "sentence": [0.0] * 6},
        {"word": [True] * 5, "sentence": [0.0] * 6},
        {"word": [math.nan] * 5, "sentence": [0.0] * 6},
        {"word": [10**400] * 5, "sentence": [0.0] * 6},
    ],
)
def test_wrong_parameters_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must list|must have word and sentence"):
        Calibration.from_dict(wrong)
