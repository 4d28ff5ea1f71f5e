"""Laws of alignment: an ended sentence that asks has the attention of its own translation."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import torch

from model.backends.selection import Backend
from model.decoding.decoder import Precision
from model.network.attention_maps import attention_maps
from model.network.config import default_heads
from tests.model.network.reference import BOS, VARIANTS, run_at_random, tiny_model, tiny_runner
from tests.model.test_runner import KINDS, mixed_sentences


@pytest.mark.parametrize(("precision", "backend"), KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_best_hypothesis_has_the_attention_of_the_reference(
    variant: dict[str, Any], precision: Precision, backend: Backend
) -> None:
    """The mean of the chosen heads, bytes nearly so; nothing that did not ask has any. In few
    slots, so that a slot's tables hold what longer sentences left."""
    model, rng = tiny_model(seed=6, **variant), random.Random(2)
    sentences = [
        dataclasses.replace(sentence, is_aligned=rng.random() < 0.6)
        for sentence in mixed_sentences(20, seed=1)
    ]
    tolerance = 0.07 if precision == "int8" else 2e-5
    num_checked = 0
    last = model.config.n_decoder_layers - 1
    for heads in ((), tuple(sorted({(0, 0), (last, 0)}))):
        runner = tiny_runner(
            model, 5, 20, precision=precision, backend=backend, alignment_heads=heads
        )
        run = run_at_random(runner, sentences, rng, share=0.7)
        for index, sentence in enumerate(sentences):
            best, *others = run.results[index].hypotheses
            assert [hypothesis.attention for hypothesis in others] == [None] * len(others)
            if not sentence.is_aligned:
                assert best.attention is None
                continue
            assert best.attention is not None
            assert best.attention.shape == (len(best.ids), len(sentence.ids))
            if best.ids:
                maps = attention_maps(model, sentence.ids, [BOS, *best.ids[:-1]]).memory
                chosen = [maps[place] for place in heads or default_heads(model.config)]
                found, expected = torch.from_numpy(best.attention), torch.stack(chosen).mean(0)
                torch.testing.assert_close(found, expected, atol=tolerance, rtol=1e-4)
                num_checked += 1
    assert num_checked > 10


@pytest.mark.parametrize(("layers", "expected"), [(1, 0), (2, 1), (4, 2), (12, 10)])
def test_heads_that_nobody_chose_are_those_of_one_layer(layers: int, expected: int) -> None:
    heads = default_heads(tiny_model(n_decoder_layers=layers).config)
    assert heads == ((expected, 0), (expected, 1))
