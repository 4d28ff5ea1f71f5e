"""Recorded and compiled steps. That recorded ones translate alike stands in test_runner.py, where
"graphs" is one of the backends."""

from __future__ import annotations

import functools

import pytest
import torch
from torch._dynamo.utils import counters

from model.backends.pytorch.cuda_graphs import UsualSentences, usual_shapes
from model.decoding.decoder import Capacity
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features
from tests.model.network.reference import EOS, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

PLAIN = Features(False, False, False, False, 0)


def test_warming_up_leaves_no_trace() -> None:
    model, sentences = tiny_model(seed=5), mixed_sentences(10, seed=6)
    expected = texts(run_to_end(tiny_runner(model), sentences))
    runner = tiny_runner(model, backend="graphs")
    runner.warm_up([DecodingOptions(beam_size=1), DecodingOptions(beam_size=4)])
    assert (runner.num_running, runner.num_free_slots, runner.num_free_rows) == (0, 16, 64)
    assert texts(run_to_end(runner, sentences)) == expected


def test_an_h200_full_of_a_model_has_no_more_shapes_than_are_kept() -> None:
    """1,024 rows, beams of four, histories and sources of 256 tokens."""
    usual = [UsualSentences(4, PLAIN), UsualSentences(1, PLAIN)]
    shapes = usual_shapes(Capacity(256, 1024, 256, 256), usual)
    assert len(shapes) == len(set(shapes)) < 2048


def test_compiled_steps_translate_alike_and_are_compiled_once_for_all_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a compiler: the traced operations run as they are. `fullgraph` refuses a break."""
    model = tiny_model(seed=3, n_decoder_layers=1)
    options = DecodingOptions(beam_size=4)
    crowd = [SourceSentence([*[5 + n] * (3 * n + 1), EOS], options) for n in range(7)]
    expected = texts(run_to_end(tiny_runner(model), crowd))
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    before = counters["stats"]["unique_graphs"]
    try:
        runner = tiny_runner(model, backend="compiled")
        assert texts(run_to_end(runner, crowd)) == expected
        assert counters["stats"]["unique_graphs"] - before <= 2  # of one slot, and of more
    finally:
        torch._dynamo.reset()
