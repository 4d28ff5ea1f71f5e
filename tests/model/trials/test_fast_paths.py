"""What a server does at start with a GPU whose recorded steps fail, are wrong, or overflow."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from model.backends.device_lost import DeviceLost
from model.backends.selection import Backend
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished
from model.offline import translate_all
from model.runner import Runner
from model.trials.fast_paths import (
    RECORDED_STEPS,
    fault_of,
    proof_sentences,
    proven_precision,
    proven_runner,
)
from tests.model.network.reference import EOS, tiny_model, tiny_runner
from tests.model.test_runner import overflowing_model

SOURCES = [([5, 7, 9, 4, EOS], []), ([12, 6, 8, 8, 11, 10, EOS], [5])]
SENTENCES = proof_sentences(SOURCES, DecodingOptions(beam_size=3))
MODEL = tiny_model(seed=9)


PLAIN = translate_all(tiny_runner(MODEL, backend="eager"), SENTENCES)


def prove(runner: Runner) -> str | None:
    return fault_of(runner, SENTENCES, PLAIN)


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


def make(backend: Backend | None) -> Runner:
    return tiny_runner(MODEL, backend=backend or "graphs")


@pytest.mark.parametrize("fault", [None, "log-probabilities differ by 1.00"])
def test_recorded_steps_that_are_wrong_are_switched_off_with_a_warning(
    fault: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    runner = proven_runner(make, None, lambda _: None, lambda _: fault)
    expected = (True, ()) if fault is None else (False, (RECORDED_STEPS,))
    assert (runner.is_recorded, runner.refused_paths) == expected
    assert ("recorded steps are switched off here" in caplog.text) == (fault is not None)


def test_steps_that_cannot_be_recorded_are_switched_off_unless_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing_warm_up(runner: Runner) -> None:
        if runner.is_recorded:
            raise RuntimeError("operation not permitted when stream is capturing")

    runner = proven_runner(make, None, failing_warm_up, prove)
    assert runner.refused_paths == (RECORDED_STEPS,)
    assert "operation not permitted" in caplog.text
    with pytest.raises(RuntimeError, match="do not work here: operation not permitted"):
        proven_runner(make, "graphs", failing_warm_up, prove)


def test_a_lost_device_is_no_fault_of_recorded_steps() -> None:
    def lose(runner: Runner) -> None:
        raise DeviceLost("cuda:0")

    with pytest.raises(DeviceLost):
        proven_runner(make, None, lose, prove)


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
