"""Laws of an engine with several workers: who gets what, and that each stands by itself."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Sequence

import pytest

from service.engine.engine import Engine, EngineLimits
from service.engine.interfaces import Runner
from service.engine.worker import Worker
from service.observability.metrics import Metrics
from tests.service.fakes import (
    FakeRunner,
    FakeTokenizer,
    eventually,
    num_restarts,
    sentence,
    texts_of,
)

LIMITS = EngineLimits(1000, max_waiting_tokens=100_000, max_prefill_tokens=1000)


@contextlib.asynccontextmanager
async def engine_of(
    make_runners: Sequence[Callable[[], Runner]],
    busy_workers: set[Worker] | None = None,
    metrics: Metrics | None = None,
) -> AsyncGenerator[Engine]:
    metrics = metrics or Metrics()
    engine = Engine(make_runners, metrics.of_model("fake"), LIMITS, busy_workers)
    engine.start()
    try:
        yield engine
    finally:
        await asyncio.to_thread(engine.stop)


@contextlib.asynccontextmanager
async def held(
    count: int, max_slots: int = 4
) -> AsyncGenerator[tuple[list[FakeRunner], Engine, set[Worker]]]:
    """An engine of so many workers, whose steps wait until the gates open."""
    runners = [FakeRunner(max_slots) for _ in range(count)]
    busy_workers: set[Worker] = set()
    for runner in runners:
        runner.gate.clear()
    async with engine_of([lambda r=r: r for r in runners], busy_workers) as engine:
        try:
            yield runners, engine, busy_workers
        finally:
            open_gates(runners)


def open_gates(runners: Sequence[FakeRunner]) -> None:
    for runner in runners:
        runner.gate.set()


def test_a_sentence_goes_where_least_is_to_do_counted_in_hypotheses() -> None:
    async def scenario() -> None:
        async with held(3) as (runners, engine, _):
            tasks = []
            for text, beam_size in (("wide", 5), ("a", 1), ("b", 2), ("c", 1), ("d", 1)):
                given = [sentence(text, beam_size=beam_size)]
                tasks.append(asyncio.create_task(engine.translate(given)))
                await asyncio.sleep(0)
            open_gates(runners)
            await asyncio.gather(*tasks)
        admitted = [
            sorted(FakeTokenizer().decode(ids[1:-1]) for ids in r.admitted) for r in runners
        ]
        assert admitted == [["wide"], ["a", "c", "d"], ["b"]]

    asyncio.run(scenario())


def test_a_list_is_dealt_out_and_comes_back_in_its_order() -> None:
    async def scenario() -> None:
        async with held(2) as (runners, engine, _):
            open_gates(runners)
            given = ["x" * n for n in (9, 1, 7, 3, 5, 2, 8, 4)]
            outcomes = await engine.translate([sentence(text) for text in given])
            assert texts_of(outcomes) == [text.upper() for text in given]
        assert [len(runner.admitted) for runner in runners] == [4, 4]
        assert [sum(map(len, runner.admitted)) for runner in runners] == [30, 25]

    asyncio.run(scenario())


def test_a_worker_that_dies_fails_its_own_sentences_and_the_others_serve_on() -> None:
    async def scenario() -> None:
        broken, healthy, new = FakeRunner(), FakeRunner(), FakeRunner()
        broken.fail_next_step = broken.fail_release = True
        firsts = [broken, new]
        async with engine_of([lambda: firsts.pop(0), lambda: healthy]) as engine:
            outcomes = await engine.translate([sentence("aa"), sentence("b")])
            assert [outcome.error is None for outcome in outcomes] == [False, True]
            assert engine.is_ready
            await eventually(lambda: not firsts)
            given = [sentence("c"), sentence("d")]
            await eventually(lambda: engine.num_running == engine.num_waiting == 0)
            assert texts_of(await engine.translate(given)) == ["C", "D"]
            await eventually(lambda: new.num_steps > 0 or healthy.num_steps > 3)

    asyncio.run(scenario())


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_any_mix_is_answered_and_nothing_is_left_in_any_worker(num_workers: int) -> None:
    """Lists, wide beams, poisoned sentences, deadlines, and clients that leave."""

    async def scenario() -> None:
        rng = random.Random(num_workers)
        runners = [FakeRunner(max_slots=3, max_rows=16) for _ in range(num_workers)]
        metrics = Metrics()
        async with engine_of([lambda r=r: r for r in runners], metrics=metrics) as engine:
            tasks = []
            for _ in range(200):
                given = [
                    sentence("☠" if rng.random() < 0.4 else "x" * rng.randint(1, 20), beam_size=n)
                    for n in rng.choices(range(1, 9), k=rng.randint(1, 5))
                ]
                deadline = 0.001 if rng.random() < 0.1 else None
                tasks.append(asyncio.create_task(engine.translate(given, deadline)))
                if rng.random() < 0.2:
                    await asyncio.sleep(0.001)
                    rng.choice(tasks).cancel()
            async with asyncio.timeout(60):
                results = await asyncio.gather(*tasks, return_exceptions=True)
            errors = {type(r) for r in results if isinstance(r, BaseException)}
            assert errors <= {asyncio.CancelledError}
            await eventually(lambda: engine.num_running == 0)
            assert (engine.num_waiting, engine.admission.num_tokens) == (0, 0)
            assert all(runner.num_free_slots == runner.max_slots for runner in runners)
            assert {worker.load for worker in engine._workers} == {0}
            assert num_restarts(metrics) == 0

    asyncio.run(scenario())
