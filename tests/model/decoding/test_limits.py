"""What a runner takes of one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from model.decoding.limits import SentenceLimits
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence

LIMITS = SentenceLimits(max_source_tokens=16, max_target_tokens=20, max_beam_size=4)


def sentence(num_tokens: int = 3, **more: Any) -> SourceSentence:
    return SourceSentence([5] * num_tokens, DecodingOptions(max_length=10), **more)


def test_a_sentence_that_fits_may_be_as_long_as_it_asks_and_as_the_runner_allows() -> None:
    assert LIMITS.target_limit(sentence(16)) == 10
    assert LIMITS.target_limit(sentence(prefix=(5,) * 9)) == 10
    long = SourceSentence([5] * 16, DecodingOptions(beam_size=4, max_length=1000))
    assert LIMITS.target_limit(long) == 20


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (sentence(0), "1 to 16 source tokens, got 0"),
        (sentence(17), "1 to 16 source tokens, got 17"),
        (SourceSentence([5], DecodingOptions(beam_size=5)), "beam_size must be at most 4, got 5"),
        (sentence(prefix=(5,) * 10), "less than 10 tokens, got 10"),
    ],
)
def test_what_does_not_fit_is_told_with_the_bound(given: SourceSentence, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        LIMITS.target_limit(given)
