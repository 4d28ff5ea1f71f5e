"""What makes a step fit to be recorded. That recorded steps translate alike stands in
test_runner.py, where "graphs" is one of the backends."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DynamicOutputShapeException

from model.backends.pytorch.cuda_graphs import UsualSentences, usual_shapes
from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.search import Search
from model.backends.pytorch.search_state import Utf8Tensors
from model.backends.pytorch.step import Step
from model.decoding.decoder import Capacity, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features
from model.decoding.utf8 import Utf8Tables
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

PLAIN = Features(False, False, False, False, 0)
EVERYTHING = Features(
    has_sampling=True,
    has_guards=True,
    has_prefix=True,
    has_streams=True,
    max_ngram_size=3,
)


def step_without_numbers(is_recorded: bool) -> None:
    """On tensors that have shapes only: what needs to know a number fails."""
    capacity = Capacity(max_slots=8, max_rows=32, max_source_tokens=32, max_target_tokens=48)
    cpu = torch.device("cpu")
    utf8 = Utf8Tensors.of(Utf8Tables.of({5: 0x41, 6: 0xC3, 7: 0xA9}, 13), cpu)
    with torch.no_grad(), FakeTensorMode() as mode:
        network = EagerNetwork(tiny_model(), CONTROL_IDS, capacity, is_recorded)
        search = Search(SearchSizes(8, 16, 48), SearchTokens(EOS, 0), cpu)
        search.utf8 = Utf8Tensors(*map(mode.from_tensor, utf8))
        places = torch.arange(16)
        table = RowTable(places.view(4, 4), places, places, places[:4], places, places[:2])
        Step(network, search).run(table, StepShape(32, 32), EVERYTHING)


def test_a_step_to_be_recorded_does_the_same_whatever_the_numbers_are() -> None:
    step_without_numbers(is_recorded=True)
    with pytest.raises(DynamicOutputShapeException):
        step_without_numbers(is_recorded=False)


def test_a_sentence_abandoned_on_its_way_out_is_not_told_of() -> None:
    runner = tiny_runner(tiny_model(), backend="graphs")
    options = DecodingOptions(beam_size=1, max_length=2)
    short, long = runner.admit(
        [
            SourceSentence([5, EOS], options),
            SourceSentence([5, EOS], DecodingOptions(max_length=30)),
        ]
    )
    slots = runner.num_free_slots
    while runner.num_free_slots == slots:
        assert runner.step().finished == []
    assert runner.num_running == 2
    runner.release(short)
    ended = [f.handle for _ in range(40) for f in runner.step().finished]
    assert (ended, runner.num_running) == ([long], 0)


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
