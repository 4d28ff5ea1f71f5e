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
from model.decoding.sentence import Hypothesis, SourceSentence
from model.network.transformer import Transformer
from model.runner import Runner
from tests.model.backends.native.test_step import any_sentence, assert_same
from tests.model.network.reference import (
    CONTROL_IDS,
    EOS,
    log_probs_after,
    run_joining_at_random,
    run_to_end,
    tiny_model,
)
from tests.model.test_runner import BACKENDS

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
SEEDS = st.integers(0, 2**32 - 1)


def copying_model(seed: int, bonus: float = 4.0) -> Transformer:
    """It likes nothing more than what it should not write."""
    model = tiny_model(V, seed)
    model.output.bias.data[list(COPIED)] += bonus
    return model


def copying_runner(
    model: Transformer, backend: Backend, copied_ids: Mapping[int, int | None] = COPIED
) -> Runner:
    return Runner(
        model,
        CONTROL_IDS,
        max_slots=6,
        max_rows=40,
        max_source_tokens=32,
        max_target_tokens=48,
        backend=backend,
        byte_ids={7: 0x41},
        copied_ids=copied_ids,
    )


def copying_sentence(rng: random.Random) -> SourceSentence:
    """Of any kind of search, with one or all of its hypotheses."""
    sentence = any_sentence(rng)
    n_best = rng.choice([1, sentence.options.beam_size])
    options = dataclasses.replace(sentence.options, n_best=n_best)
    return dataclasses.replace(sentence, options=options, is_cut=rng.random() < 0.2)


def lacked(sentence: SourceSentence) -> set[int]:
    """The copied pieces that its source does not hold."""
    return {piece for piece, token in COPIED.items() if token not in sentence.ids}


def chosen(sentence: SourceSentence, hypothesis: Hypothesis) -> list[int]:
    """The tokens that the search chose, which are those after the prefix."""
    return hypothesis.ids[len(sentence.prefix) :]


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_no_search_writes_a_piece_that_its_source_lacks(seed: int) -> None:
    """Sentences of all kinds join and leave; the backends agree."""
    model, rng = copying_model(seed % 50), random.Random(seed)
    sentences = [copying_sentence(rng) for _ in range(14)]
    found = {
        backend: run_joining_at_random(copying_runner(model, backend), sentences, rng)
        for backend in BACKENDS
    }
    for results in found.values():
        for sentence, result in zip(sentences, results, strict=True):
            assert result.hypotheses
            for hypothesis in result.hypotheses:
                assert lacked(sentence).isdisjoint(chosen(sentence, hypothesis))
        assert_same(results, found["eager"])


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
    tokens = [*best.ids, EOS][: len(best.log_probs)]
    expected = [
        float(log_probs_after(model, sentence.ids, tokens[:place])[token])
        for place, token in enumerate(tokens)
    ]
    assert best.log_probs == pytest.approx(expected, abs=1e-3)
