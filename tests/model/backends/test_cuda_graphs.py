"""What makes a step fit to be recorded. That recorded steps translate alike stands in
test_runner.py, where "graphs" is one of the backends."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DynamicOutputShapeException

from model.backends import cuda_graphs as graphs
from model.backends.cuda_graphs import RecordedShape, UsualSentences, usual_shapes
from model.backends.recording import Recorded
from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import BatchRows, Capacity, RowTable, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence
from model.decoding.slot_allocator import BatchView
from model.decoding.slot_options import Features
from model.decoding.step import Outcome, Step
from model.decoding.utf8 import Utf8Tables
from model.device_lost import DeviceLost
from model.offline import translate_all
from model.runner import Runner
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

PLAIN = Features(False, False, False, False, 0, 0)
EVERYTHING = Features(
    has_sampling=True,
    has_guards=True,
    has_prefix=True,
    has_streams=True,
    max_ngram_size=3,
    max_term_tokens=8,
)


def step_without_numbers(is_recorded: bool) -> None:
    """On tensors that have shapes only: what needs to know a number fails."""
    capacity = Capacity(max_slots=8, max_rows=32, max_source_tokens=32, max_target_tokens=48)
    utf8 = Utf8Tables.of({5: 0x41, 6: 0xC3, 7: 0xA9}, 13, torch.device("cpu"))
    with torch.no_grad(), FakeTensorMode() as mode:
        utf8 = Utf8Tables(*map(mode.from_tensor, utf8))
        network = EagerNetwork(tiny_model(), CONTROL_IDS, capacity, is_recorded)
        search = Search(SearchSizes(8, 16, 48), SearchTokens(EOS, 0), torch.device("cpu"), utf8)
        places = torch.arange(16)
        table = RowTable(places.view(4, 4), places, places, places[:4], places, places[:2])
        Step(network, search).run(table, StepShape(32, 32), EVERYTHING)


def test_a_step_to_be_recorded_does_the_same_whatever_the_numbers_are() -> None:
    step_without_numbers(is_recorded=True)
    with pytest.raises(DynamicOutputShapeException):
        step_without_numbers(is_recorded=False)


def test_crowds_of_any_size_and_length_need_few_recordings() -> None:
    runner = tiny_runner(tiny_model(), backend="graphs")
    options = DecodingOptions(beam_size=4)
    for count, length in itertools.product(range(1, 17), (1, 31)):
        run_to_end(runner, [SourceSentence([*[5] * length, EOS], options)] * count)
    assert len(recordings_of(runner)) <= 5 * 2  # sizes 1 to 16, two lengths of the target


def test_recordings_that_were_forgotten_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sentences = tiny_model(seed=3), mixed_sentences(10, seed=4)
    expected = texts(run_to_end(tiny_runner(model), sentences))
    monkeypatch.setattr(graphs, "_MOST_GRAPHS", 2)
    runner = tiny_runner(model, backend="graphs")
    assert texts(run_to_end(runner, sentences)) == expected
    assert len(recordings_of(runner)) == 2


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
    assert len(recordings_of(runner)) >= 5
    assert (runner.num_running, runner.num_free_slots, runner.num_free_rows) == (0, 16, 64)
    assert texts(run_to_end(runner, sentences)) == expected


@pytest.mark.parametrize(("beams", "max_rows"), [((4,), 24), ((1, 2, 3, 4), 24), ((1, 4), 11)])
def test_batches_of_usual_and_narrower_beams_meet_no_new_shape_after_warm_up(
    beams: tuple[int, ...], max_rows: int
) -> None:
    """With a tag, streamed or not, of any lengths, mixed, joining and leaving."""
    rng = random.Random(7)
    model = tiny_model(seed=5)
    runner = tiny_runner(model, max_slots=6, max_rows=max_rows, backend="graphs")
    runner.warm_up([DecodingOptions(beam_size=4), DecodingOptions(beam_size=1)], has_prefix=True)
    recorded = set(recordings_of(runner))
    sentences = [
        SourceSentence(
            [*rng.choices(range(4, 13), k=rng.randint(1, 31)), EOS],
            DecodingOptions(beam_size=rng.choice(beams)),
            is_streamed=rng.random() < 0.3,
            prefix=(5,),
        )
        for _ in range(20)
    ]
    found = translate_all(runner, sentences)
    assert set(recordings_of(runner)) == recorded
    one = tiny_runner(model, max_slots=1, max_rows=4, backend="native")
    assert texts(found) == texts(translate_all(one, sentences))


def test_an_h200_full_of_a_model_has_no_more_shapes_than_are_kept() -> None:
    """1,024 rows, beams of four, histories and sources of 256 tokens."""
    usual = [UsualSentences(4, PLAIN), UsualSentences(1, PLAIN)]
    shapes = usual_shapes(Capacity(256, 1024, 256, 256), usual)
    assert len(shapes) == len(set(shapes)) == 1088 < graphs._MOST_GRAPHS


def test_a_wider_beam_than_usual_is_recorded_when_it_comes_again() -> None:
    batch = BatchRows(BatchView([0], [list(range(7))]), list(range(7)), torch.device("cpu"))
    shape = RecordedShape.of(batch, StepShape(1, 1), PLAIN, Capacity(8, 32, 32, 48), [1, 4])
    assert (shape.width, shape.n_slots, shape.n_rows) == (7, 1, 8)


class FailingRecorder:
    """Records nothing."""

    def __init__(self, error: RuntimeError) -> None:
        self._error = error
        self.num_tried = 0

    def record(self, run: Callable[[], Outcome]) -> Recorded:
        self.num_tried += 1
        raise self._error


def test_a_shape_that_cannot_be_recorded_is_tried_once_and_runs_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = tiny_model(seed=3)
    sentences = [SourceSentence([5, 7, EOS], DecodingOptions(beam_size=2))]
    expected = texts(run_to_end(tiny_runner(model), sentences))
    runner = tiny_runner(model, backend="graphs")
    recorder = FailingRecorder(RuntimeError("operation not permitted when stream is capturing"))
    assert isinstance(runner._step, graphs.GraphedStep)
    runner._step._recorder = recorder
    for _ in range(3):
        assert texts(run_to_end(runner, sentences)) == expected
    assert recorder.num_tried == len(recordings_of(runner)) == runner._step.num_refused
    assert caplog.text.count("cannot be recorded") == recorder.num_tried


def test_a_device_that_is_lost_while_recording_is_no_shape_that_cannot_be_recorded() -> None:
    runner = tiny_runner(tiny_model(), backend="graphs")
    assert isinstance(runner._step, graphs.GraphedStep)
    runner._step._recorder = FailingRecorder(DeviceLost("cuda:0"))
    with pytest.raises(DeviceLost):
        run_to_end(runner, [SourceSentence([5, EOS], DecodingOptions())])


def test_warm_up_gives_up_if_nothing_can_be_recorded() -> None:
    runner = tiny_runner(tiny_model(), backend="graphs")
    assert isinstance(runner._step, graphs.GraphedStep)
    recorder = FailingRecorder(RuntimeError("not here"))
    runner._step._recorder = recorder
    with pytest.raises(RuntimeError, match="3 of 3 shapes"):
        runner.warm_up([DecodingOptions(beam_size=4)])
    assert recorder.num_tried == 3


def recordings_of(runner: Runner) -> dict[object, object]:
    assert isinstance(runner._step, graphs.GraphedStep)
    return dict(runner._step._recordings)
