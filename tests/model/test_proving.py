"""What a server does at start with a GPU whose recorded steps fail, are wrong, or overflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from model.backends.cuda_graphs import GraphedStep
from model.backends.recording import Recorded
from model.backends.selection import Backend
from model.decoding.network_interface import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished
from model.decoding.step import Outcome
from model.device_lost import DeviceLost
from model.offline import translate_all
from model.proving import (
    RECORDED_STEPS,
    fault_of,
    proof_sentences,
    proven_precision,
    proven_runner,
)
from model.runner import Runner
from tests.model.backends.test_overflow import overflowing_model
from tests.model.network.reference import EOS, tiny_model, tiny_runner

SOURCES = [([5, 7, 9, 4, EOS], []), ([12, 6, 8, 8, 11, 10, EOS], [5])]
SENTENCES = proof_sentences(SOURCES, DecodingOptions(beam_size=3))
MODEL = tiny_model(seed=9)


class Rerun:
    """Stands for recorded steps: replays by running the step again, then spoils it."""

    def __init__(self, runner: Runner, spoil: Callable[[Runner], None]) -> None:
        self._runner, self._spoil = runner, spoil
        self.num_replays = 0

    def record(self, run: Callable[[], Outcome]) -> Recorded:
        outcome = run()

        def replay() -> None:
            self.num_replays += 1
            latest = run()
            self._spoil(self._runner)
            for old, new in zip(outcome, latest, strict=True):
                if old is not None and new is not None:
                    old.copy_(new)

        return Recorded(replay, outcome)


def nothing(runner: Runner) -> None:
    """The recording is right."""


def add_to_scores(runner: Runner) -> None:
    runner._search.live.score += 0.5


def forget_a_status(runner: Runner) -> None:
    runner._search.live.tokens[:, 0, 2] = 6


def lose_a_log_prob(runner: Runner) -> None:
    runner._search.live.log_probs[:, :, 0] -= 1.0


def make_with(spoil: Callable[[Runner], None]) -> Callable[[Backend | None], Runner]:
    def make(backend: Backend | None) -> Runner:
        runner = tiny_runner(MODEL, backend=backend or "graphs")
        if isinstance(runner._step, GraphedStep):
            runner._step._recorder = Rerun(runner, spoil)
        return runner

    return make


PLAIN = translate_all(tiny_runner(MODEL, backend="eager"), SENTENCES)


def prove(runner: Runner) -> str | None:
    return fault_of(runner, SENTENCES, PLAIN)


def no_warm_up(runner: Runner) -> None:
    """Shapes are recorded when they occur a second time."""


def test_recorded_steps_that_are_right_stay_on() -> None:
    runner = proven_runner(make_with(nothing), None, no_warm_up, prove)
    assert (runner.is_recorded, runner.refused_paths) == (True, ())
    assert isinstance(runner._step, GraphedStep)
    recorder = runner._step._recorder
    assert isinstance(recorder, Rerun)
    assert recorder.num_replays > 20


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_rounding_that_depends_on_the_neighbours_is_no_fault(precision: Precision) -> None:
    """In half precision a crowd rounds otherwise than one sentence after the other."""
    model = tiny_model(seed=9).to(getattr(torch, precision))
    one = tiny_runner(model, max_slots=1, max_rows=4, precision=precision, backend="eager")
    alone = [translate_all(one, [sentence])[0] for sentence in SENTENCES]
    crowd = tiny_runner(model, precision=precision, backend="graphs")
    assert fault_of(crowd, SENTENCES, alone) is None
    other = tiny_runner(tiny_model(seed=10), precision="float32", backend="graphs")
    assert fault_of(other, SENTENCES, alone) is not None


@pytest.mark.parametrize("spoil", [add_to_scores, forget_a_status, lose_a_log_prob])
def test_recorded_steps_that_are_wrong_are_switched_off_with_a_warning(
    spoil: Callable[[Runner], None], caplog: pytest.LogCaptureFixture
) -> None:
    runner = proven_runner(make_with(spoil), None, no_warm_up, prove)
    assert (runner.is_recorded, runner.refused_paths) == (False, (RECORDED_STEPS,))
    assert prove(runner) is None
    (record,) = caplog.records
    assert "recorded steps are switched off here" in record.message


def test_steps_that_cannot_be_recorded_are_switched_off_unless_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing_warm_up(runner: Runner) -> None:
        if runner.is_recorded:
            raise RuntimeError("operation not permitted when stream is capturing")

    runner = proven_runner(make_with(nothing), None, failing_warm_up, prove)
    assert runner.refused_paths == (RECORDED_STEPS,)
    assert "operation not permitted" in caplog.text
    with pytest.raises(RuntimeError, match="do not work here: operation not permitted"):
        proven_runner(make_with(nothing), "graphs", failing_warm_up, prove)


def test_a_lost_device_is_no_fault_of_recorded_steps() -> None:
    def lose(runner: Runner) -> None:
        raise DeviceLost("cuda:0")

    with pytest.raises(DeviceLost):
        proven_runner(make_with(nothing), None, lose, prove)


@pytest.mark.parametrize(
    ("overflowing", "chosen"),
    [
        ((), "float16"),
        (("float16",), "bfloat16"),
        (("float16", "bfloat16"), "float32"),
        (("float16", "bfloat16", "float32"), "float32"),
    ],
)
def test_a_model_that_overflows_gets_the_next_precision(
    overflowing: Sequence[Precision], chosen: Precision
) -> None:
    def translate(precision: Precision) -> list[Finished]:
        model = overflowing_model("encoder") if precision in overflowing else MODEL
        return translate_all(tiny_runner(model, backend="eager"), SENTENCES)

    assert proven_precision(("float16", "bfloat16", "float32"), translate) == chosen
