from __future__ import annotations

import asyncio
import threading
import weakref

import pytest

from service.errors import Draining, InvalidField, NotReady, Overloaded
from service.observability.metrics import Metrics
from tests.service.fakes import (
    FakeRunner,
    emptied,
    engine_of,
    eventually,
    num_restarts,
    sentence,
    texts_of,
)


async def test_outcomes_come_in_the_order_given_though_short_ones_end_first() -> None:
    async with engine_of(FakeRunner(max_slots=2)) as engine:
        given = ["long long long", "a", "bb", "cc cc", "d"]
        outcomes = await engine.translate([sentence(text) for text in given])
        assert texts_of(outcomes) == [text.upper() for text in given]


async def test_a_short_sentence_that_comes_late_overtakes_a_long_one() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner) as engine:
        long = asyncio.create_task(engine.translate([sentence("x" * 40)]))
        await eventually(runner.is_stepping.is_set)
        short = asyncio.create_task(engine.translate([sentence("y")]))
        await eventually(lambda: engine.num_waiting == 1)
        runner.gate.set()
        order: list[str] = []
        long.add_done_callback(lambda _: order.append("long"))
        short.add_done_callback(lambda _: order.append("short"))
        await asyncio.gather(long, short)
        assert order == ["short", "long"]
        assert runner.most_running == 2


async def test_too_many_waiting_are_refused_until_there_is_room_again() -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner, max_waiting_sentences=2) as engine:
        first = asyncio.create_task(engine.translate([sentence("a")]))
        await eventually(lambda: engine.num_running == 1)
        second = asyncio.create_task(engine.translate([sentence("b"), sentence("c")]))
        await eventually(lambda: engine.num_waiting == 2)
        with pytest.raises(Overloaded, match="at most 2"):
            await engine.translate([sentence("d")])
        runner.gate.set()
        await asyncio.gather(first, second)
        assert texts_of(await engine.translate([sentence("d")])) == ["D"]
        assert engine.num_waiting == 0


async def test_cancelling_frees_what_runs_and_what_waits() -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner) as engine:
        task = asyncio.create_task(engine.translate([sentence("a" * 30), sentence("b" * 30)]))
        await eventually(runner.is_stepping.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        runner.gate.set()
        await emptied(engine)
        assert runner.num_free_slots == 1
        assert runner.num_steps <= 2
        assert texts_of(await engine.translate([sentence("c")])) == ["C"]


async def test_a_failing_step_answers_all_with_an_error_and_the_engine_goes_on() -> None:
    runner = FakeRunner()
    async with engine_of(runner) as engine:
        runner.fail_next_step = True
        outcomes = await engine.translate([sentence("a"), sentence("b")])
        assert all(outcome.error and not outcome.hypotheses for outcome in outcomes)
        assert runner.num_free_slots == runner.max_slots
        assert engine.is_ready
        assert texts_of(await engine.translate([sentence("c")])) == ["C"]


async def test_more_refused_sentences_than_there_are_slots_fail_alone_and_no_engine_dies() -> None:
    """Others wait behind them when the last of those just taken is refused."""
    metrics = Metrics()
    async with engine_of(FakeRunner(max_slots=2), metrics=metrics) as engine:
        given = [*["☠"] * 9, "a", *["☠"] * 8, "b", "☠"]
        refused = asyncio.create_task(engine.translate([sentence(text) for text in given]))
        innocent = asyncio.create_task(engine.translate([sentence("c"), sentence("d")]))
        outcomes = await refused
        assert [o.error is None for o in outcomes] == [text != "☠" for text in given]
        assert {o.error.code for o in outcomes if o.error} == {"translation_failed"}
        assert "poisoned" in str(outcomes[0].error)
        assert num_restarts(metrics) == 0
        assert texts_of(await innocent) == ["C", "D"]


async def test_an_engine_that_cannot_be_rebuilt_yet_is_not_ready_and_tries_again() -> None:
    broken = FakeRunner()
    broken.fail_next_step = broken.fail_release = True
    attempts: list[FakeRunner | None] = [broken, None, FakeRunner()]
    may_build = threading.Event()

    def make_runner() -> FakeRunner:
        runner = attempts.pop(0)
        if runner is None:
            raise RuntimeError("out of memory")
        if not attempts:
            may_build.wait(60)
        return runner

    async with engine_of(make_runner) as engine:
        await engine.translate([sentence("a")])
        await eventually(lambda: not attempts)
        with pytest.raises(NotReady):
            await engine.translate([sentence("b")])
        may_build.set()
        await eventually(lambda: engine.is_ready)
        assert texts_of(await engine.translate([sentence("c")])) == ["C"]


async def test_an_engine_that_dies_answers_all_and_frees_its_runner_before_it_makes_a_new_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """There may be no memory for two. Log handlers may keep the errors, as pytest's does."""
    made: list[weakref.ref[FakeRunner]] = []
    num_alive: list[int] = []

    def make_runner() -> FakeRunner:
        num_alive.append(sum(runner() is not None for runner in made))
        runner = FakeRunner()
        made.append(weakref.ref(runner))
        runner.fail_next_step = runner.fail_release = len(made) == 1
        if len(made) == 2:
            raise RuntimeError("out of memory")
        return runner

    async with engine_of(make_runner) as engine:
        outcomes = await engine.translate([sentence("a"), sentence("b")])
        assert all(outcome.error for outcome in outcomes)
        await eventually(lambda: len(made) == 3 and engine.is_ready)
        assert texts_of(await engine.translate([sentence("c")])) == ["C"]
    assert num_alive == [0, 0, 0]
    assert [record.exc_info is None for record in caplog.records] == [False] * 3


async def test_draining_finishes_what_was_taken_and_refuses_what_comes() -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner) as engine:
        taken = asyncio.create_task(engine.translate([sentence("a"), sentence("b" * 20)]))
        await eventually(runner.is_stepping.is_set)
        engine.refuse_new_work()
        assert not engine.is_ready
        with pytest.raises(Draining):
            await engine.translate([sentence("c")])
        second_half = asyncio.create_task(engine.translate([sentence("d")], is_admitted=True))
        runner.gate.set()
        assert texts_of(await taken) == ["A", "B" * 20]
        assert texts_of(await second_half) == ["D"]


@pytest.mark.parametrize(("is_draining", "error"), [(False, NotReady), (True, Draining)])
async def test_what_is_not_done_when_an_engine_stops_gets_an_error(
    is_draining: bool, error: type[NotReady]
) -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner) as engine:
        taken = asyncio.create_task(engine.translate([sentence("a" * 30), sentence("b")]))
        await eventually(runner.is_stepping.is_set)
        if is_draining:
            engine.refuse_new_work()
        for worker in engine._workers:
            worker.request_stop()
        runner.gate.set()
        await asyncio.to_thread(engine.stop)
        assert [type(outcome.error) for outcome in await taken] == [error, error]


async def test_a_request_of_many_sentences_does_not_hold_back_one_that_comes_after_it() -> None:
    runner = FakeRunner(max_slots=2)
    runner.gate.clear()
    async with engine_of(runner, max_waiting_sentences=2000) as engine:
        many = asyncio.create_task(engine.translate([sentence("xxx")] * 1000))
        await eventually(runner.is_stepping.is_set)
        one = asyncio.create_task(engine.translate([sentence("y")]))
        await eventually(lambda: engine.num_waiting == 999)
        runner.gate.set()
        await asyncio.gather(one, many)
        assert runner.admitted.index(list(sentence("y").ids)) < 5


@pytest.mark.parametrize(("prior_work", "is_overtaken"), [(10_000, True), (0, False)])
async def test_sentences_made_again_do_not_pass_for_new_short_work(
    prior_work: int, is_overtaken: bool
) -> None:
    """A short newcomer goes before the second translations of a request that had much work."""
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner) as engine:
        first = asyncio.create_task(engine.translate([sentence("x" * 30)]))
        await eventually(runner.is_stepping.is_set)
        again = asyncio.create_task(
            engine.translate([sentence("a" * 20)], is_admitted=True, prior_work=prior_work)
        )
        await eventually(lambda: engine.num_waiting == 1)
        newcomer = asyncio.create_task(engine.translate([sentence("b" * 20)]))
        await eventually(lambda: engine.num_waiting == 2)
        runner.gate.set()
        await asyncio.gather(first, again, newcomer)
    assert (runner.admitted[1] == list(sentence("b" * 20).ids)) == is_overtaken


async def test_an_outcome_tells_the_work_that_it_took() -> None:
    async with engine_of(FakeRunner()) as engine:
        (outcome,) = await engine.translate([sentence("abc", beam_size=2)])
        assert outcome.work == 5 + 2 * 5  # source tokens, and steps of two rows


async def test_a_beam_that_can_never_fit_is_refused_at_once() -> None:
    async with engine_of(FakeRunner()) as engine:
        with pytest.raises(InvalidField, match="at most 16"):
            await engine.translate([sentence("a", beam_size=17)])
