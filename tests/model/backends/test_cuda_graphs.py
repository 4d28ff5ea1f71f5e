"""Recorded steps. That they translate alike stands in test_runner.py, where "graphs" is one of the
backends."""

from __future__ import annotations

from model.backends.pytorch.cuda_graphs import UsualSentences, usual_shapes
from model.decoding.decoder import Capacity
from model.decoding.options import DecodingOptions
from model.decoding.slot_options import Features
from tests.model.network.reference import run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

PLAIN = Features(False, False, False, False, 0)
STREAMED = PLAIN._replace(has_streams=True)


def test_warming_up_leaves_no_trace() -> None:
    model, sentences = tiny_model(seed=5), mixed_sentences(10, seed=6)
    expected = texts(run_to_end(tiny_runner(model), sentences))
    runner = tiny_runner(model, backend="graphs")
    runner.warm_up([DecodingOptions(beam_size=1), DecodingOptions(beam_size=4)])
    assert (runner.num_running, runner.num_free_slots, runner.num_free_rows) == (0, 16, 64)
    assert texts(run_to_end(runner, sentences)) == expected


def test_an_h200_full_of_a_model_has_no_more_shapes_than_are_kept() -> None:
    """4,096 rows, beams of four, histories and sources of 256 tokens."""
    usual = [UsualSentences(4, STREAMED), UsualSentences(1, STREAMED), UsualSentences(8, PLAIN)]
    shapes = usual_shapes(Capacity(1024, 4096, 256, 256), usual)
    assert len(shapes) == len(set(shapes)) < 2048
