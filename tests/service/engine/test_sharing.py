"""Equal sentences are computed once, and nobody notices but by the clock."""

from __future__ import annotations

import asyncio
import random
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.engine import Engine
from service.engine.sentence_task import SentenceKey, SentenceOutcome
from service.engine.sharing import SentenceCache, entry_bytes, sentence_key
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded, Draining, Overloaded
from service.observability.metrics import Metrics
from tests.service.fakes import (
    FakeRunner,
    FakeTokenizer,
    arrived,
    emptied,
    engine_of,
    eventually,
    held_engine,
    sentence,
    texts_of,
)

pytestmark = pytest.mark.usefixtures("_in_either_place")
CACHED = 10**6
Call = asyncio.Task[list[SentenceOutcome]]


def num_looked_up(metrics: Metrics) -> list[float]:
    """Hits, sentences that joined a running one, and misses."""
    labels = [{"model": "fake", "result": result} for result in ("hit", "joined", "miss")]
    sample = metrics.registry.get_sample_value
    return [sample("dragoman_looked_up_total", each) or 0.0 for each in labels]


async def streamed(
    engine: Engine, given: SourceSentence, begun: asyncio.Event | None = None
) -> tuple[str, str]:
    """The streamed text, and the final one. `begun` is set when the engine has taken it."""
    pieces, final = "", ""
    async with engine.stream([replace(given, is_streamed=True)]) as updates:
        if begun is not None:
            begun.set()
        async for update in updates:
            assert update.ids or update.outcome
            pieces += FakeTokenizer().decode(update.ids)
            if update.outcome is not None:
                assert update.outcome.error is None, update.outcome.error
                [final] = texts_of([update.outcome])
    return pieces, final


async def test_an_equal_sentence_comes_from_the_cache_with_no_wait_in_its_times() -> None:
    """But not from a draining engine."""
    runner, metrics = FakeRunner(), Metrics()
    async with engine_of(runner, metrics=metrics, cache_bytes=CACHED) as engine:
        first = await engine.translate([sentence("abc")])
        again = await engine.translate([sentence("abc"), sentence("d")])
        assert again[0].hypotheses == first[0].hypotheses
        assert texts_of(again) == ["ABC", "D"]
        assert (again[0].phases, again[0].work) == ((0, 0, 0), 0)
        assert len(runner.admitted) == 2
        assert num_looked_up(metrics) == [1, 0, 2]
        assert engine.gauges()["cache_bytes"] > 0
        engine.refuse_new_work()
        with pytest.raises(Draining):
            await engine.translate([sentence("abc")])
        assert texts_of(await engine.translate([sentence("abc")], Ticket().admitted())) == ["ABC"]


async def test_without_bytes_everything_is_computed() -> None:
    runner = FakeRunner()
    async with engine_of(runner) as engine:
        for _ in range(2):
            assert texts_of(await engine.translate([sentence("a")] * 3)) == ["A"] * 3
        assert (len(runner.admitted), engine.gauges()["cache_bytes"]) == (6, 0)


async def test_other_options_are_computed_again() -> None:
    runner, one = FakeRunner(), sentence("a")
    sampling = DecodingOptions(sampling=True, beam_size=1)
    others = [replace(one, options=replace(sampling, seed=seed)) for seed in (0, 1)]
    async with engine_of(runner, cache_bytes=CACHED) as engine:
        await engine.translate([one])
        [wide] = await engine.translate([sentence("a", beam_size=2, n_best=2)])
        assert [h.ids for h in wide.hypotheses] == [[65], [65, 42]]
        [prefixed] = await engine.translate([replace(one, prefix=(90,))])
        assert FakeTokenizer().decode(prefixed.hypotheses[0].ids) == "ZA"
        await engine.translate([sentence("a", beam_size=2), replace(one, is_aligned=True), *others])
        assert len(runner.admitted) == 7


async def test_equal_sentences_that_run_together_are_computed_once() -> None:
    """The times of each add up to its own wait."""
    runner, metrics = FakeRunner(), Metrics()
    runner.gate.clear()
    async with engine_of(runner, metrics=metrics, cache_bytes=CACHED) as engine:
        calls = [asyncio.create_task(engine.translate([sentence("abc")])) for _ in range(9)]
        calls.append(asyncio.create_task(engine.translate([sentence("abc")] * 5)))
        await eventually(runner.is_stepping.is_set)
        runner.gate.set()
        leader, *joined = [one for outcomes in await asyncio.gather(*calls) for one in outcomes]
        assert set(texts_of([leader, *joined])) == {"ABC"}
        end = leader.arrived + sum(leader.phases)
        for one in joined:
            assert one.arrived > leader.arrived
            assert one.arrived + sum(one.phases) == pytest.approx(end)
            assert min(one.phases) >= 0
        assert len(runner.admitted) == 1
        assert num_looked_up(metrics) == [0, 13, 1]


async def test_clients_that_leave_leave_the_others_their_result_and_what_none_wants_ends() -> None:
    async with held_engine(cache_bytes=CACHED) as (runner, engine):
        both = [sentence("abc"), sentence("z" * 30)]
        leaving = [asyncio.create_task(engine.translate(both))]
        await eventually(runner.is_stepping.is_set)
        staying = asyncio.create_task(engine.translate(both[:1]))
        leaving.append(asyncio.create_task(engine.translate(both)))
        await arrived(engine)
        for call in leaving:
            call.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        await arrived(engine)
        runner.gate.set()
        assert texts_of(await staying) == ["ABC"]
        await emptied(engine)
        assert runner.num_steps < 10
        assert runner.num_free_slots == runner.max_slots
        assert [len(ids) for ids in runner.admitted] in ([5, 32], [32, 5])
        assert texts_of(await engine.translate(both)) == ["ABC", "Z" * 30]


@pytest.mark.parametrize("deadlines", [(0.02, None), (None, 0.02), (0.02, 0.02)])
async def test_a_deadline_of_one_does_not_end_the_others(deadlines: Sequence[float | None]) -> None:
    """And if all miss theirs, nothing is cached or joined."""
    async with held_engine(cache_bytes=CACHED) as (runner, engine):
        hurried, patient = list[Call](), list[Call]()
        for deadline in deadlines:
            call = asyncio.create_task(
                engine.translate([sentence("abc")], Ticket.issued("", deadline))
            )
            (hurried if deadline else patient).append(call)
            await arrived(engine)
        for [outcome] in await asyncio.gather(*hurried):
            assert isinstance(outcome.error, DeadlineExceeded)
        patient.append(asyncio.create_task(engine.translate([sentence("abc")])))
        await arrived(engine)
        runner.gate.set()
        assert {texts_of(outcomes)[0] for outcomes in await asyncio.gather(*patient)} == {"ABC"}
        assert None not in deadlines or len(runner.admitted) == 1
        await emptied(engine)


async def test_errors_are_told_to_all_and_not_cached() -> None:
    async with held_engine(cache_bytes=CACHED) as (runner, engine):
        calls = [asyncio.create_task(engine.translate([sentence("abc")])) for _ in range(3)]
        await eventually(runner.is_stepping.is_set)
        runner.fail_next_step = True
        runner.gate.set()
        for [outcome] in await asyncio.gather(*calls):
            assert outcome.error is not None
        assert texts_of(await engine.translate([sentence("abc")])) == ["ABC"]


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_streams_that_join_early_or_late_get_the_whole_text(is_streamed: bool) -> None:
    """Whether what they join is a stream or not; who joins before a step, from the first token."""
    text = "abcdefghij" * 3
    async with held_engine(cache_bytes=CACHED) as (runner, engine):
        calls = [asyncio.create_task(streamed(engine, sentence(text))) for _ in range(is_streamed)]
        whole = asyncio.create_task(engine.translate([sentence(text)]))
        await eventually(runner.is_stepping.is_set)
        begun = asyncio.Event()
        calls.append(asyncio.create_task(streamed(engine, sentence(text), begun)))
        await begun.wait()
        runner.gate.set()
        await eventually(lambda: runner.num_steps > 5)
        calls.append(asyncio.create_task(streamed(engine, sentence(text))))
        async with engine.stream([sentence(text)]) as updates:
            assert [update.ids async for update in updates] == [()]  # its outcome alone
        *early, late = await asyncio.gather(*calls)
        for pieces, final in (*early, late):
            assert final == text.upper()
            assert final.startswith(pieces)
        assert all(len(pieces) > 20 for pieces, _ in early)
        assert texts_of(await whole) == [text.upper()]
        assert len(runner.admitted) == 1


async def test_a_short_request_does_not_wait_for_the_same_sentence_of_a_document() -> None:
    async with held_engine(max_slots=1, cache_bytes=CACHED) as (runner, engine):
        document = [sentence(f"{n:030d}") for n in range(60)] + [sentence("hi")]
        long = asyncio.create_task(engine.translate(document))
        await eventually(runner.is_stepping.is_set)
        short = asyncio.create_task(engine.translate([sentence("hi")]))
        await arrived(engine)
        runner.gate.set()
        assert texts_of(await short) == ["HI"]
        assert texts_of(await long)[-1] == "HI"
        assert runner.admitted.index(list(sentence("hi").ids)) < 10


async def test_a_hit_needs_no_room_and_a_miss_does() -> None:
    runner = FakeRunner(max_slots=1)
    async with engine_of(runner, cache_bytes=CACHED, max_waiting_sentences=1) as engine:
        await engine.translate([sentence("known")])
        runner.gate.clear()
        runner.is_stepping.clear()
        running = asyncio.create_task(engine.translate([sentence("a" * 20)]))
        await eventually(runner.is_stepping.is_set)
        waiting = asyncio.create_task(engine.translate([sentence("b" * 20)]))
        await eventually(lambda: engine.num_waiting == 1)
        assert texts_of(await engine.translate([sentence("known")])) == ["KNOWN"]
        joined = asyncio.create_task(engine.translate([sentence("b" * 20)]))
        await arrived(engine)
        with pytest.raises(Overloaded):
            await engine.translate([sentence("known"), sentence("unknown")])
        runner.gate.set()
        await asyncio.gather(running, waiting, joined)
        assert engine.num_waiting == 0


def numbered(number: int, length: int = 3) -> SentenceKey:
    ids = [1000 + number * 100 + i for i in range(length)]
    return sentence_key(SourceSentence(ids, DecodingOptions()))


def hypotheses(length: int, count: int = 1) -> list[Hypothesis]:
    rng = random.Random(length)
    return [
        Hypothesis(
            [rng.randint(300, 8000) for _ in range(length)],
            [rng.random() for _ in range(length + 1)],
            rng.random(),
            "stop",
        )
        for _ in range(count)
    ]


def test_the_least_recently_used_go_first_and_the_bound_holds() -> None:
    """What exceeds the bound alone is not kept, and drives nothing out."""
    size = entry_bytes(numbered(0), hypotheses(3))
    cache = SentenceCache(3 * size)
    for number in (0, 0, 1, 2):
        cache.put(numbered(number), hypotheses(3))
    assert cache.get(numbered(0)) == hypotheses(3)
    cache.put(numbered(3), hypotheses(3))
    cache.put(numbered(4), hypotheses(400))
    kept = [cache.get(numbered(n)) is not None for n in range(5)]
    assert kept == [True, False, True, True, False]
    assert cache.num_bytes == 3 * size


def test_real_memory_stays_below_the_bound() -> None:
    """Over short and long sentences with few and many alternatives."""
    rng, cache = random.Random(0), SentenceCache(2_000_000)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(3000):
        found = hypotheses(rng.choice((2, 20, 100)), rng.choice((1, 1, 4)))
        cache.put(numbered(number, rng.choice((3, 28))), found)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cache.num_bytes > 1_900_000
    assert 0.4 * cache.num_bytes < after - before < 1.05 * cache.num_bytes
