"""What a model's runners share, and what memory they hold while others are made."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

import pytest
import torch

from model.backends.cuda_graphs import GraphedStep, UsualSentences
from model.backends.selection import Backend
from model.checkpoint import StoredCheckpoint, StoredModel, open_checkpoint
from model.decoding.network_interface import Capacity, Precision
from model.decoding.sentence import Finished, Hypothesis
from model.network.transformer import Transformer
from model.proving import proven_runner
from model.runner import Runner
from model.text.tokenizer import Tokenizer
from service import runner_factory
from service.runner_factory import Placement, RunnerFactory
from service.settings import BUNDLED
from tests.model.network.reference import tiny_model, tiny_runner

CAPACITY = Capacity(2, 4, 28, 32)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Transformer]]:
    """Every network that was read from its file, in order."""
    found: list[weakref.ref[Transformer]] = []
    load = StoredModel.load

    def watched(model: StoredModel, dtype: torch.dtype = torch.float32) -> Transformer:
        network = load(model, dtype)
        found.append(weakref.ref(network))
        return network

    monkeypatch.setattr(StoredModel, "load", watched)
    return found


def factory_of(precision: Precision, backend: Backend) -> RunnerFactory:
    checkpoint: StoredCheckpoint = open_checkpoint(BUNDLED[0])
    return RunnerFactory(checkpoint, Placement(["cpu"], precision, backend), max_beam_size=4)


def test_a_rebuilt_runner_takes_the_weights_that_are_there(
    loaded: list[weakref.ref[Transformer]],
) -> None:
    factory = factory_of("float32", "eager")
    first = factory.make_warm_runner(CAPACITY, "cpu", 1)
    network = weakref.ref(first._network)
    del first
    gc.collect()
    assert network() is None
    factory.make_warm_runner(CAPACITY, "cpu", 1)
    assert len(loaded) == 1


def test_steps_with_the_tag_of_a_language_are_recorded_before_the_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NLLB and M2M-100 have tags; the bundled models have none."""
    warm_up, shapes = GraphedStep.warm_up, list[bool]()

    def watched(step: GraphedStep, usual: Sequence[UsualSentences]) -> None:
        step._recordings.clear()
        warm_up(step, usual)
        shapes.extend(shape.features.has_prefix for shape in step._recordings)

    monkeypatch.setattr(GraphedStep, "warm_up", watched)
    monkeypatch.setattr(Tokenizer, "target_start", lambda *_: [5])
    factory_of("float32", "graphs").make_warm_runner(CAPACITY, "cpu", 1)
    assert shapes
    assert all(shapes)


@pytest.mark.parametrize("fails", ["while it warms up", "in the proof"])
def test_a_runner_whose_recorded_steps_are_refused_is_gone_before_the_plain_one_is_made(
    fails: str,
) -> None:
    """Without a collection: two sets of caches may not fit."""
    model, made = tiny_model(seed=9), list[weakref.ref[object]]()

    def make(backend: Backend | None) -> Runner:
        assert [one() for one in made] == [None] * len(made)
        runner = tiny_runner(model, backend=backend or "graphs")
        made.extend((weakref.ref(runner), weakref.ref(runner._network)))
        return runner

    def warm_up(runner: Runner) -> None:
        if fails == "while it warms up":
            runner.admit([])
            raise RuntimeError("operation not permitted when stream is capturing")

    gc.disable()
    try:
        runner = proven_runner(make, None, warm_up, lambda _: "log-probabilities differ by 1.00")
    finally:
        gc.enable()
    assert len(made) == 4
    assert not runner.is_recorded


def test_no_two_precisions_of_the_weights_are_held_while_one_is_chosen(
    loaded: list[weakref.ref[Transformer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model overflows in both halves; float32 must find the memory free."""
    factory = factory_of("float16", "eager")
    monkeypatch.setattr(runner_factory, "has_bfloat16", lambda _: True)
    alive: list[int] = []

    def translate(runner: Runner, _: object) -> list[Finished]:
        alive.append(sum(network() is not None for network in loaded))
        return [Finished(0, [], "the model gave no finite scores for this sentence")]

    monkeypatch.setattr(runner_factory, "translate_all", translate)
    gc.disable()
    try:
        factory.choose_precision()
    finally:
        gc.enable()
    assert factory.placement.precision == "float32"
    assert alive == [1, 1]
    assert [network() for network in loaded] == [None, None]


def test_the_weights_of_the_precision_that_was_chosen_are_kept(
    loaded: list[weakref.ref[Transformer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = factory_of("float16", "eager")
    monkeypatch.setattr(runner_factory, "has_bfloat16", lambda _: False)
    good = Finished(0, [Hypothesis([5], [-0.1], -0.1, "stop")])
    monkeypatch.setattr(runner_factory, "translate_all", lambda *_: [good])
    factory.choose_precision()
    assert factory.placement.precision == "float16"
    assert factory.weights() is loaded[0]()
    assert len(loaded) == 1
