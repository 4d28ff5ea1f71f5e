"""Laws of alignment: an ended sentence that asks has the attention of its own translation."""

from __future__ import annotations

import dataclasses
import random

import pytest
import torch

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.network.attention_maps import attention_maps
from model.network.config import default_heads
from model.network.transformer import Transformer
from model.runner import Runner
from tests.model.network.reference import (
    BOS,
    CONTROL_IDS,
    EOS,
    run_joining_at_random,
    run_to_end,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import BACKENDS, mixed_sentences

VARIANTS: list[dict[str, object]] = [{}, {"norm": "pre", "n_decoder_layers": 4}]


def some_aligned(count: int, seed: int) -> list[SourceSentence]:
    rng = random.Random(seed)
    return [
        dataclasses.replace(sentence, is_aligned=rng.random() < 0.6)
        for sentence in mixed_sentences(count, seed)
    ]


def check(model: Transformer, sentences: list[SourceSentence], results: list[Finished]) -> None:
    """Those that asked have the reference's attention, and nothing else has any."""
    num_checked = 0
    for sentence, result in zip(sentences, results, strict=True):
        best, *others = result.hypotheses
        assert [hypothesis.attention for hypothesis in others] == [None] * len(others)
        if not sentence.is_aligned:
            assert best.attention is None
            continue
        assert best.attention is not None
        assert best.attention.shape == (len(best.ids), len(sentence.ids))
        if best.ids:
            maps = attention_maps(model, sentence.ids, [BOS, *best.ids[:-1]])
            layer = default_heads(model.config)[0][0]
            found = torch.from_numpy(best.attention)
            torch.testing.assert_close(found, maps.memory[layer].mean(0), atol=2e-5, rtol=1e-4)
            num_checked += 1
    assert num_checked


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_best_hypothesis_has_the_attention_of_the_reference(
    variant: dict[str, object], backend: Backend
) -> None:
    model = tiny_model(seed=6, **variant)
    sentences = some_aligned(14, seed=1)
    check(model, sentences, run_to_end(tiny_runner(model, backend=backend), sentences))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sentences_that_join_and_leave_at_any_step_are_aligned_as_alone(backend: Backend) -> None:
    """In few slots, so that a slot's tables hold what was left by longer sentences."""
    model, rng = tiny_model(seed=2), random.Random(2)
    sentences = some_aligned(30, seed=4)
    runner = tiny_runner(model, backend=backend, max_slots=5, max_rows=20)
    check(model, sentences, run_joining_at_random(runner, sentences, rng, share=0.7))


def test_chosen_heads_are_those_whose_mean_is_given() -> None:
    model = tiny_model()
    model.output.bias.data[EOS] = -50.0
    runner = Runner(
        model,
        CONTROL_IDS,
        max_slots=1,
        max_rows=1,
        max_source_tokens=32,
        max_target_tokens=32,
        alignment_heads=[(0, 1), (1, 0)],
    )
    sentence = SourceSentence([5, 7, 9, EOS], DecodingOptions(beam_size=1), is_aligned=True)
    best = run_to_end(runner, [sentence])[0].hypotheses[0]
    maps = attention_maps(model, sentence.ids, [BOS, *best.ids[:-1]]).memory
    assert best.attention is not None
    found = torch.from_numpy(best.attention)
    torch.testing.assert_close(found, (maps[0, 1] + maps[1, 0]) / 2, atol=2e-5, rtol=1e-4)
