"""The engine with a real runner, tiny: whatever comes together, each sentence ends by itself."""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence, StepResult
from model.network.transformer import Transformer
from model.runner import Runner
from service.engine.engine import Engine, EngineLimits
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded, TranslationFailed
from service.observability.metrics import Metrics
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model, tiny_runner
from tests.service.fakes import emptied, eventually, num_restarts

LIMITS = EngineLimits(10_000, max_waiting_tokens=100_000, max_prefill_tokens=64)
REFUSED = (SourceSentence((), DecodingOptions()), SourceSentence((5,) * 33, DecodingOptions()))
OPTIONS = (
    DecodingOptions(beam_size=1),
    DecodingOptions(beam_size=4, length_penalty=0.6, normalization="wu"),
    DecodingOptions(beam_size=3, n_best=3),
    DecodingOptions(beam_size=7, max_length=9),
    DecodingOptions(beam_size=2, repetition_penalty=1.3, no_repeat_ngram_size=20),
    DecodingOptions(beam_size=1, sampling=True, top_p=0.9, seed=3),
)


@dataclass(frozen=True)
class Call:
    """One request: what it asks for, and whether its client leaves or its deadline is short."""

    sentences: list[SourceSentence]
    is_left: bool
    deadline_seconds: float | None


ANY_SENTENCE = st.one_of(
    st.sampled_from(REFUSED),
    st.builds(
        lambda ids, options, prefix: SourceSentence((*ids, EOS), options, prefix=prefix),
        st.lists(st.integers(4, 12), min_size=1, max_size=20),
        st.sampled_from(OPTIONS),
        st.sampled_from([(), (5, 7)]),
    ),
)
CALLS = st.lists(
    st.builds(
        Call,
        st.lists(ANY_SENTENCE, min_size=1, max_size=12),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([None, None, None, 0.001]),
    ),
    min_size=1,
    max_size=6,
)


@functools.cache
def small_model() -> Transformer:
    return tiny_model(seed=6)


def small_runner(backend: Backend) -> Runner:
    return tiny_runner(small_model(), max_slots=3, max_rows=8, backend=backend)


@pytest.mark.parametrize("backend", ["native", "eager"])
@given(calls=CALLS)
@settings(max_examples=20, deadline=None)
async def test_what_the_runner_refuses_fails_alone_in_any_mix(
    backend: Backend, calls: list[Call]
) -> None:
    metrics = Metrics()
    make_runners = [functools.partial(small_runner, backend)] * 2
    engine = Engine(make_runners, metrics.of_model("tiny"), LIMITS)
    engine.start()
    try:
        tasks = [
            asyncio.create_task(
                engine.translate(call.sentences, Ticket.issued("", call.deadline_seconds))
            )
            for call in calls
        ]
        await eventually(lambda: engine.num_running > 0 or all(t.done() for t in tasks))
        for call, task in zip(calls, tasks, strict=True):
            if call.is_left:
                task.cancel()
        async with asyncio.timeout(60):
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        await emptied(engine)
        assert num_restarts(metrics, "tiny") == 0
        for call, outcomes in zip(calls, ended, strict=True):
            assert isinstance(outcomes, list) or call.is_left
            if isinstance(outcomes, list):
                _check(call, outcomes, backend)
    finally:
        engine.stop()


def _check(call: Call, outcomes: list[SentenceOutcome], backend: Backend) -> None:
    for sentence, outcome in zip(call.sentences, outcomes, strict=True):
        if call.deadline_seconds is not None and isinstance(outcome.error, DeadlineExceeded):
            continue
        if sentence in REFUSED:
            assert isinstance(outcome.error, TranslationFailed)
        else:
            assert outcome.error is None
            assert [h.ids for h in outcome.hypotheses] == _alone(sentence, backend)


@functools.cache
def runner_of_its_own(backend: Backend) -> Runner:
    return small_runner(backend)


@functools.cache
def _alone(sentence: SourceSentence, backend: Backend) -> list[list[int]]:
    (finished,) = run_to_end(runner_of_its_own(backend), [sentence])
    return [hypothesis.ids for hypothesis in finished.hypotheses]


class Breaking(Runner):
    """A runner that cannot go on after its first step."""

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        super().step(handles)
        raise RuntimeError("the device is lost")

    def release(self, handle: int) -> None:
        raise RuntimeError("the device is lost")


@pytest.mark.parametrize("backend", ["native", "eager"])
async def test_the_caches_of_a_broken_runner_are_freed_before_those_of_a_new_one_are_made(
    backend: Backend,
) -> None:
    """They live as long as it does. Log handlers may keep the errors, as pytest's does."""
    made: list[weakref.ref[Runner]] = []
    num_alive: list[int] = []

    def make_runner() -> Runner:
        num_alive.append(sum(runner() is not None for runner in made))
        kind = Runner if made else Breaking
        room = {"max_slots": 3, "max_rows": 8, "max_source_tokens": 32, "max_target_tokens": 48}
        runner = kind(small_model(), CONTROL_IDS, **room, backend=backend)
        made.append(weakref.ref(runner))
        if len(made) == 2:
            raise RuntimeError("out of memory")
        return runner

    metrics = Metrics()
    engine = Engine([make_runner], metrics.of_model("tiny"), LIMITS)
    engine.start()
    sentences = [SourceSentence((5, 7, EOS), options) for options in OPTIONS]
    assert all(outcome.error for outcome in await engine.translate(sentences))
    await eventually(lambda: num_restarts(metrics, "tiny") == 1 and engine.is_ready)
    assert not any(outcome.error for outcome in await engine.translate(sentences))
    engine.stop()
    assert num_alive == [0, 0, 0]
