"""One worker: what joins, what is refused, what fails, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from service.engine.sentence_engine import SUBMITTED_AT_ONCE, AwaitedRequest
from service.engine.sentence_task import SentenceTask
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded, Draining, InvalidField, NotReady, Overloaded
from service.observability.metrics import Metrics
from tests.service.fakes import (
    FakeRunner,
    emptied,
    engine_of,
    eventually,
    held_engine,
    num_restarts,
    sentence,
    texts_of,
)

pytestmark = pytest.mark.usefixtures("_in_either_place")


async def test_too_many_waiting_are_refused_until_there_is_room_again() -> None:
    async with held_engine(max_slots=1, max_waiting_sentences=2) as (runner, engine):
        first = asyncio.create_task(engine.translate([sentence("a")]))
        await eventually(lambda: engine.num_running == 1)
        second = asyncio.create_task(engine.translate([sentence("b"), sentence("c")]))
        await eventually(lambda: engine.num_waiting == 2)
        with pytest.raises(Overloaded, match="at most 2"):
            await engine.translate([sentence("d"), sentence("e")])
        runner.gate.set()
        await asyncio.gather(first, second)
        assert texts_of(await engine.translate([sentence("d")])) == ["D"]
        assert engine.num_waiting == 0


@pytest.mark.parametrize("client", ["another", ""])
async def test_a_request_that_fills_the_queue_shuts_nobody_out(client: str) -> None:
    """Nor do other requests of its own client get 503 for it."""
    async with held_engine(max_slots=1, max_waiting_sentences=50) as (runner, engine):
        endless = [sentence(f"{number:04}", max_length=10**5) for number in range(300)]
        first = asyncio.create_task(engine.translate(endless))
        await eventually(lambda: engine.num_waiting == 299)
        others = [
            asyncio.create_task(engine.translate([sentence(f"b{number}")], Ticket(client)))
            for number in range(20)
        ]
        await eventually(lambda: engine.num_waiting == 319)
        runner.gate.set()
        assert len(await asyncio.gather(*others)) == 20
        assert len(await first) == 300


class EachIteration:
    """Calls `seen` in every iteration of the event loop, inside the block."""

    def __init__(self, seen: Callable[[], None]) -> None:
        self._seen, self._is_over = seen, False

    def __enter__(self) -> None:
        self._iterate()

    def __exit__(self, *_: object) -> None:
        self._is_over = True

    def _iterate(self) -> None:
        if not self._is_over:
            self._seen()
            asyncio.get_running_loop().call_soon(self._iterate)


@pytest.mark.parametrize("cache_bytes", [0, 10**8])
async def test_a_request_of_many_sentences_is_submitted_in_many_turns(cache_bytes: int) -> None:
    """And refused as a whole, before any of it has started."""
    given = [sentence(f"{number:x}") for number in range(5 * SUBMITTED_AT_ONCE + 7)]
    async with held_engine(max_slots=6000, cache_bytes=cache_bytes) as (runner, engine):
        waiting = [0]
        with EachIteration(lambda: waiting.append(engine.num_waiting + engine.num_running)):
            many = asyncio.create_task(engine.translate(given))
            await eventually(lambda: waiting[-1] == len(given))
        most = max(b - a for a, b in itertools.pairwise(waiting))
        assert most < 2 * SUBMITTED_AT_ONCE  # those that are being admitted wait and run
        with pytest.raises(Overloaded, match="at most 1000"):
            await engine.translate([sentence(f"+{number:x}") for number in range(len(given))])
        assert engine.num_waiting + engine.num_running == len(given)
        runner.gate.set()
        assert texts_of(await many) == [f"{number:X}" for number in range(len(given))]


async def test_a_deadline_ends_what_is_still_being_submitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    num_parts, parts = 12, list[int]()
    given = [sentence("a")] * (num_parts * SUBMITTED_AT_ONCE)
    async with held_engine(max_slots=6000) as (runner, engine):
        submit = engine.submit

        def count(request: AwaitedRequest, first: int, *rest: Any) -> None:
            parts.append(first)
            submit(request, first, *rest)

        monkeypatch.setattr(engine, "submit", count)
        outcomes = await engine.translate(given, Ticket.issued("", 0.0))
        assert {type(outcome.error) for outcome in outcomes} == {DeadlineExceeded}
        runner.gate.set()
        await emptied(engine)
        assert runner.num_admitted < len(given)
        assert 0 < len(parts) < num_parts


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


async def test_an_engine_stops_though_it_cannot_be_rebuilt() -> None:
    broken = FakeRunner()
    broken.fail_next_step = broken.fail_release = True
    async with engine_of([broken].pop) as engine:
        await engine.translate([sentence("a")])
        with pytest.raises(NotReady):
            await engine.translate([sentence("b")])


async def test_an_engine_that_dies_while_it_is_stopped_is_not_rebuilt() -> None:
    async with held_engine() as (runner, engine):
        runner.fail_next_step = runner.fail_release = True
        asked = asyncio.create_task(engine.translate([sentence("a")]))
        await eventually(runner.is_stepping.is_set)
        (worker,) = engine._workers
        worker.request_stop()
        runner.gate.set()
        assert (await asked)[0].error
        await eventually(lambda: worker._thread is not None and not worker._thread.is_alive())


async def test_an_engine_forgets_what_has_ended() -> None:
    """Done, refused by its runner, over its time, or left by its client."""

    def num_tasks() -> int:
        gc.collect()
        return sum(type(one) is SentenceTask for one in gc.get_objects())

    before = num_tasks()
    async with held_engine(max_slots=2) as (runner, engine):
        given = [sentence("a" * 20), sentence("☠"), sentence("b")]
        calls = [engine.translate(given), engine.translate(given, Ticket.issued("", 0.0))]
        left = asyncio.create_task(engine.translate(given))
        asked = [asyncio.create_task(call) for call in calls]
        await eventually(runner.is_stepping.is_set)
        left.cancel()
        runner.gate.set()
        await asyncio.gather(left, *asked, return_exceptions=True)
        await engine.translate([sentence("c")])
        await eventually(lambda: num_tasks() == before)


async def test_draining_finishes_what_was_taken_and_refuses_what_comes() -> None:
    async with held_engine(max_slots=1) as (runner, engine):
        taken = asyncio.create_task(engine.translate([sentence("a"), sentence("b" * 20)]))
        await eventually(runner.is_stepping.is_set)
        engine.refuse_new_work()
        assert not engine.is_ready
        with pytest.raises(Draining):
            await engine.translate([sentence("c")])
        second_half = asyncio.create_task(engine.translate([sentence("d")], Ticket().admitted()))
        runner.gate.set()
        assert texts_of(await taken) == ["A", "B" * 20]
        assert texts_of(await second_half) == ["D"]


@pytest.mark.parametrize(("is_draining", "error"), [(False, NotReady), (True, Draining)])
async def test_what_is_not_done_when_an_engine_stops_gets_an_error(
    is_draining: bool, error: type[NotReady]
) -> None:
    """Also what joined a sentence of another request."""
    async with held_engine(max_slots=1, cache_bytes=10**6) as (runner, engine):
        given = [sentence("a" * 30), sentence("b")]
        taken = [asyncio.create_task(engine.translate(given)) for _ in range(3)]
        await eventually(runner.is_stepping.is_set)
        if is_draining:
            engine.refuse_new_work()
        for worker in engine._workers:
            worker.request_stop()
        runner.gate.set()
        await asyncio.to_thread(engine.stop)
        for outcomes in await asyncio.gather(*taken):
            assert [type(outcome.error) for outcome in outcomes] == [error, error]


@pytest.mark.parametrize(("prior_work", "is_overtaken"), [(10_000, True), (0, False)])
async def test_sentences_made_again_do_not_pass_for_new_short_work(
    prior_work: int, is_overtaken: bool
) -> None:
    """A short newcomer goes before the second translations of a request that had much work."""
    async with held_engine(max_slots=1) as (runner, engine):
        first = asyncio.create_task(engine.translate([sentence("x" * 30)]))
        await eventually(runner.is_stepping.is_set)
        again = asyncio.create_task(
            engine.translate([sentence("a" * 20)], Ticket().admitted(prior_work))
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
