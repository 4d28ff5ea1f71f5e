"""The law of copied pieces: no search writes one that the source lacks."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.transformer import Transformer
from model.runner import Runner
from tests.model.network.reference import (
    EOS,
    run_at_random,
    run_to_end,
    teacher_forced,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import BACKENDS, any_sentence

V = 64
COPIED: Mapping[int, int | None] = {
    5: 5,
    6: 9,
    8: None,
    10: 10,
    11: 4,
    **dict.fromkeys(range(14, 20)),
}
"""Some are another token in sources, some are in none."""


def copying_model(seed: int, bonus: float = 4.0) -> Transformer:
    """It likes nothing more than what it should not write."""
    model = tiny_model(V, seed)
    model.output.bias.data[list(COPIED)] += bonus
    return model


def copying_runner(model: Transformer, backend: Backend) -> Runner:
    return tiny_runner(model, 6, 40, backend=backend, byte_ids={7: 0x41}, copied_ids=COPIED)


def lacked(sentence: SourceSentence) -> set[int]:
    """The copied pieces that its source does not hold."""
    return {piece for piece, token in COPIED.items() if token not in sentence.ids}


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_search_writes_a_piece_that_its_source_lacks(seed: int, backend: Backend) -> None:
    """Sentences of all kinds join and leave."""
    model, rng = copying_model(seed % 50), random.Random(seed)
    sentences = [
        dataclasses.replace(any_sentence(rng), is_cut=rng.random() < 0.2) for _ in range(14)
    ]
    results = run_at_random(copying_runner(model, backend), sentences, rng).results
    for index, sentence in enumerate(sentences):
        for hypothesis in results[index].hypotheses:
            assert lacked(sentence).isdisjoint(hypothesis.ids[len(sentence.prefix) :])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_the_source_holds_is_copied(backend: Backend) -> None:
    options = DecodingOptions(beam_size=2, max_length=12)
    sentences = [SourceSentence([token, EOS], options) for token in (5, 9, 10, 4)]
    results = run_to_end(copying_runner(copying_model(0, bonus=30.0), backend), sentences)
    written = [COPIED.keys() & set(result.hypotheses[0].ids) for result in results]
    assert written == [{5}, {6}, {10}, {11}]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_other_tokens_keep_their_scores(backend: Backend) -> None:
    """What is not written still has its share of the probability."""
    model = copying_model(3)
    sentence = SourceSentence([7, 12, EOS], DecodingOptions(beam_size=3, max_length=10))
    (result,) = run_to_end(copying_runner(model, backend), [sentence])
    best = result.hypotheses[0]
    assert best.log_probs == pytest.approx(teacher_forced(model, sentence.ids, best), abs=1e-3)
