"""Laws of an engine with several workers: who gets what, and that each stands by itself."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import threading
import weakref
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from model.decoding.sentence import StepResult
from service.engine.engine import Engine
from service.engine.sentence_engine import AwaitedRequest
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.engine.worker import NICENESS, Worker
from service.errors import DeadlineExceeded, NotReady
from service.observability.metrics import Metrics
from tests.service.fakes import (
    LIMITS,
    FakeRunner,
    FakeTokenizer,
    emptied,
    engine_of,
    eventually,
    num_restarts,
    sentence,
    texts_of,
)


@contextlib.asynccontextmanager
async def held(
    count: int, max_slots: int = 4
) -> AsyncGenerator[tuple[list[FakeRunner], Engine, set[Worker]]]:
    """An engine of so many workers, whose steps wait until the gates open."""
    runners = [FakeRunner(max_slots) for _ in range(count)]
    busy_workers: set[Worker] = set()
    for runner in runners:
        runner.gate.clear()
    async with engine_of(*runners, busy_workers=busy_workers) as engine:
        yield runners, engine, busy_workers


def open_gates(runners: Sequence[FakeRunner]) -> None:
    for runner in runners:
        runner.gate.set()


async def test_a_sentence_goes_where_least_is_to_do_counted_in_hypotheses() -> None:
    async with held(3) as (runners, engine, _):
        tasks = []
        for text, beam_size in (("wide", 5), ("a", 1), ("b", 2), ("c", 1), ("d", 1)):
            given = [sentence(text, beam_size=beam_size)]
            tasks.append(asyncio.create_task(engine.translate(given)))
            await asyncio.sleep(0)
        open_gates(runners)
        await asyncio.gather(*tasks)
    admitted = [sorted(FakeTokenizer().decode(ids[1:-1]) for ids in r.admitted) for r in runners]
    assert admitted == [["wide"], ["a", "c", "d"], ["b"]]


async def test_a_list_is_dealt_out_and_comes_back_in_its_order() -> None:
    async with held(2) as (runners, engine, _):
        open_gates(runners)
        given = ["x" * n for n in (9, 1, 7, 3, 5, 2, 8, 4)]
        outcomes = await engine.translate([sentence(text) for text in given])
        assert texts_of(outcomes) == [text.upper() for text in given]
    assert [len(runner.admitted) for runner in runners] == [4, 4]
    assert [sum(map(len, runner.admitted)) for runner in runners] == [30, 25]


async def test_what_is_streamed_is_begun_in_its_order() -> None:
    async with held(2) as (runners, engine, _):
        open_gates(runners)
        given = [replace(sentence("x" * n), is_streamed=True) for n in (2, 9, 3, 8)]
        async with engine.stream(given) as updates:
            ended = [u.index async for u in updates if u.outcome is not None]
        assert sorted(ended) == [0, 1, 2, 3]
    assert [[len(ids) - 2 for ids in r.admitted] for r in runners] == [[2, 3], [9, 8]]


async def test_a_worker_alone_at_work_has_all_cores_and_several_share_them() -> None:
    async with held(2) as (runners, engine, busy_workers):
        first = asyncio.create_task(engine.translate([sentence("a" * 20)]))
        await eventually(runners[0].is_stepping.is_set)
        assert (set(runners[0].sharers), len(busy_workers)) == ({1}, 1)
        runners[0].sharers.clear()
        second = asyncio.create_task(engine.translate([sentence("b")]))
        await eventually(runners[1].is_stepping.is_set)
        assert set(runners[1].sharers) == {2}
        runners[0].gate.set()
        await first
        assert set(runners[0].sharers) == {2}
        runners[1].gate.set()
        await second
        await eventually(lambda: not busy_workers)
        await engine.translate([sentence("c")])
        assert runners[0].sharers[-1] == 1


async def test_workers_of_different_engines_share_the_cores_too() -> None:
    one, other = FakeRunner(), FakeRunner()
    other.gate.clear()
    busy_workers: set[Worker] = set()
    async with (
        engine_of(one, busy_workers=busy_workers) as engine,
        engine_of(other, busy_workers=busy_workers) as busy,
    ):
        task = asyncio.create_task(busy.translate([sentence("a")]))
        await eventually(other.is_stepping.is_set)
        await engine.translate([sentence("b")])
        other.gate.set()
        await task
    assert set(one.sharers) == {2}


async def test_a_worker_that_dies_fails_its_own_sentences_and_the_others_serve_on() -> None:
    """Until it is rebuilt; it takes no share of the cores. Clients that leave do not put that off,
    though each worker hears of them."""
    broken, busy_workers = FakeRunner(), set[Worker]()
    broken.fail_next_step = broken.fail_release = True
    attempts: list[FakeRunner | None] = [broken, None, FakeRunner()]

    def make_runner() -> FakeRunner:
        runner = attempts.pop(0)
        if runner is None:
            raise RuntimeError("out of memory")
        return runner

    async with engine_of(make_runner, FakeRunner(), busy_workers=busy_workers) as engine:
        outcomes = await engine.translate([sentence("aa"), sentence("b")])
        assert [outcome.error is None for outcome in outcomes] == [False, True]
        assert engine._workers[0] not in busy_workers
        while attempts:
            assert engine.is_ready
            assert texts_of(await engine.translate([sentence("c"), sentence("d")])) == ["C", "D"]
            leaving = asyncio.create_task(engine.translate([sentence("e" * 30)]))
            await asyncio.sleep(0)
            leaving.cancel()


async def test_cancelling_a_request_frees_its_places_in_every_worker() -> None:
    async with held(2, max_slots=1) as (runners, engine, _):
        task = asyncio.create_task(engine.translate([sentence("x" * 30)] * 6))
        await eventually(lambda: all(runner.is_stepping.is_set() for runner in runners))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        open_gates(runners)
        await emptied(engine)
        assert all(runner.num_steps <= 2 for runner in runners)
        assert texts_of(await engine.translate([sentence("y")] * 2)) == ["Y", "Y"]


async def test_a_result_that_comes_after_the_deadline_does_not_count() -> None:
    """Even if the event loop was held up, and sees the result before its clock."""
    future: asyncio.Future[list[SentenceOutcome]] = asyncio.get_running_loop().create_future()
    request = AwaitedRequest(future, arrived_seconds=0.0, num_sentences=1, ticket=Ticket("", 1.0))
    request.end(0, SentenceOutcome([]))
    (outcome,) = await future
    assert isinstance(outcome.error, DeadlineExceeded)


async def test_a_worker_that_does_not_run_takes_nothing_and_leaves_no_trace() -> None:
    async with engine_of(FakeRunner(), FakeRunner()) as engine:
        engine.stop()
        with pytest.raises(NotReady):
            await engine.translate([sentence("a"), sentence("b")])
        assert (engine.num_waiting, engine.admission.num_tokens) == (0, 0)


async def test_an_engine_that_has_stopped_lets_its_runners_go_at_once() -> None:
    """Not when garbage is collected: another model may wait for the memory."""
    made = list[weakref.ref[FakeRunner]]()

    def make_runner() -> FakeRunner:
        runner = FakeRunner()
        made.append(weakref.ref(runner))
        return runner

    engine = Engine([make_runner] * 2, Metrics().of_model("fake"), LIMITS)
    engine.start()
    await engine.translate([sentence("a"), sentence("b")])
    gc.disable()
    try:
        await asyncio.to_thread(engine.stop)
        assert [runner() for runner in made] == [None, None]
    finally:
        gc.enable()


async def test_a_runner_is_gone_before_another_is_built_in_its_place() -> None:
    """Memory may not hold both; also if errors, which a log keeps, and the runner refer to it."""
    made, num_alive = list[weakref.ref[FakeRunner]](), list[int]()

    def make_runner() -> FakeRunner:
        num_alive.append(sum(runner() is not None for runner in made))
        runner = FakeRunner()
        made.append(weakref.ref(runner))
        runner.itself = runner  # type: ignore[attr-defined]
        runner.fail_next_step = runner.fail_release = len(made) == 1
        if len(made) == 2:
            raise RuntimeError("out of memory")
        return runner

    gc.disable()
    try:
        async with engine_of(make_runner) as engine:
            (outcome,) = await engine.translate([sentence("a")])
            assert outcome.error is not None
            await eventually(lambda: engine.is_ready and len(made) == 3)
    finally:
        gc.enable()
    assert num_alive == [0, 0, 0]


async def test_an_engine_that_dies_while_it_is_stopped_is_not_rebuilt() -> None:
    runners = list[FakeRunner]()

    def make_runner() -> FakeRunner:
        runners.append(FakeRunner())
        return runners[-1]

    engine = Engine([make_runner], Metrics().of_model("fake"), LIMITS)
    (runner,) = runners
    runner.gate.clear()
    runner.fail_next_step = runner.fail_release = True
    engine.start()
    call = asyncio.create_task(engine.translate([sentence("a")]))
    await eventually(runner.is_stepping.is_set)
    (worker,) = engine._workers
    worker.request_stop()
    runner.gate.set()
    (outcome,) = await call
    assert outcome.error is not None
    await eventually(lambda: worker._thread is not None and not worker._thread.is_alive())
    assert runners == [runner]


def niceness_of_this_thread() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


class PriorityRunner(FakeRunner):
    """Notes the niceness of the thread that steps it."""

    niceness = 0

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.niceness = niceness_of_this_thread()
        return super().step(handles)


def refuse(*_: int) -> None:
    raise PermissionError


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_worker_is_nicer_than_the_event_loop_where_the_system_allows_it(
    is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_allowed:
        monkeypatch.setattr(os, "setpriority", refuse)
    runner, before = PriorityRunner(), niceness_of_this_thread()
    async with engine_of(runner) as engine:
        assert texts_of(await engine.translate([sentence("a")])) == ["A"]
    assert niceness_of_this_thread() == before
    assert runner.niceness == min(before + NICENESS * is_allowed, 19)


@pytest.mark.parametrize("cache_bytes", [0, 10**6])
@pytest.mark.parametrize("num_workers", [1, 2, 3])
async def test_any_mix_is_answered_rightly_and_nothing_is_left_in_any_worker(
    num_workers: int, cache_bytes: int
) -> None:
    """Lists, wide beams, poisoned sentences, failing steps, deadlines, clients that leave; few
    texts, so that most are equal."""
    rng = random.Random(num_workers)
    runners = [FakeRunner(max_slots=3, max_rows=16) for _ in range(num_workers)]
    metrics, texts = Metrics(), ["☠", "a", "bb", "c" * 9, "d" * 19, "e" * 20]
    async with engine_of(*runners, metrics=metrics, cache_bytes=cache_bytes) as engine:
        calls: list[tuple[list[str], asyncio.Task[list[SentenceOutcome]]]] = []
        for _ in range(200):
            asked = rng.choices(texts, weights=[4, 2, 1, 1, 1, 1], k=rng.randint(1, 5))
            given = [sentence(text, beam_size=rng.choice((1, 1, 4, 8))) for text in asked]
            ticket = Ticket.issued("", 0.001 if rng.random() < 0.1 else None)
            calls.append((asked, asyncio.create_task(engine.translate(given, ticket))))
            if rng.random() < 0.2:
                await asyncio.sleep(0.001)
                rng.choice(calls)[1].cancel()
            rng.choice(runners).fail_next_step |= rng.random() < 0.02
        async with asyncio.timeout(60):
            results = await asyncio.gather(*(task for _, task in calls), return_exceptions=True)
        for (asked, _), result in zip(calls, results, strict=True):
            if isinstance(result, BaseException):
                assert isinstance(result, asyncio.CancelledError)
                continue
            for text, outcome in zip(asked, result, strict=True):
                if outcome.error is not None:
                    assert outcome.error.code in ("deadline", "translation_failed")
                    continue
                assert text != "☠"
                assert texts_of([outcome]) == [text.upper()]
        await emptied(engine)
        assert all(runner.num_free_slots == runner.max_slots for runner in runners)
        assert {(worker.load, len(worker._open)) for worker in engine._workers} == {(0, 0)}
        assert not engine._shared._tasks
        assert num_restarts(metrics) == 0
