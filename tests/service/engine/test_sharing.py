"""Equal sentences are computed once, and nobody notices but by the clock."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from model.decoding.sentence import SourceSentence
from service.engine.engine import Engine
from service.errors import Draining, Overloaded
from service.observability.metrics import Metrics
from tests.service.fakes import (
    FakeRunner,
    FakeTokenizer,
    emptied,
    engine_of,
    eventually,
    sentence,
    texts_of,
)


def num_looked_up(metrics: Metrics) -> dict[str, float]:
    names = ("hit", "joined", "miss")
    values = (
        metrics.registry.get_sample_value(
            "dragoman_looked_up_total", labels={"model": "fake", "result": name}
        )
        for name in names
    )
    return {name: value or 0.0 for name, value in zip(names, values, strict=True)}


async def streamed(engine: Engine, given: SourceSentence) -> tuple[str, str]:
    """The streamed text, and the final one."""
    pieces, final = "", ""
    async with engine.stream([replace(given, is_streamed=True)]) as updates:
        async for update in updates:
            pieces += FakeTokenizer().decode(update.ids)
            if update.outcome is not None:
                assert update.outcome.error is None, update.outcome.error
                [final] = texts_of([update.outcome])
    return pieces, final


async def test_an_equal_sentence_comes_from_the_cache_with_no_wait_in_its_times() -> None:
    runner, metrics = FakeRunner(), Metrics()
    async with engine_of(runner, metrics=metrics, cache_bytes=10**6) as engine:
        first = await engine.translate([sentence("abc")])
        again = await engine.translate([sentence("abc"), sentence("d")])
        assert again[0].hypotheses == first[0].hypotheses
        assert texts_of(again) == ["ABC", "D"]
        assert (again[0].queue, again[0].encode, again[0].decode, again[0].work) == (0, 0, 0, 0)
        assert len(runner.admitted) == 2
        assert num_looked_up(metrics) == {"hit": 1, "joined": 0, "miss": 2}
        assert engine.gauges()["cache_bytes"] > 0


async def test_without_bytes_everything_is_computed() -> None:
    runner = FakeRunner()
    async with engine_of(runner) as engine:
        for _ in range(2):
            assert texts_of(await engine.translate([sentence("a")] * 3)) == ["A"] * 3
        assert (len(runner.admitted), engine.gauges()["cache_bytes"]) == (6, 0)


async def test_other_options_are_computed_again() -> None:
    runner = FakeRunner()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        await engine.translate([sentence("a")])
        [wide] = await engine.translate([sentence("a", beam_size=2, n_best=2)])
        assert [h.ids for h in wide.hypotheses] == [[65], [65, 42]]
        [prefixed] = await engine.translate([replace(sentence("a"), prefix=(90,))])
        assert FakeTokenizer().decode(prefixed.hypotheses[0].ids) == "ZA"
        assert len(runner.admitted) == 3


async def test_equal_sentences_that_run_together_are_computed_once() -> None:
    runner, metrics = FakeRunner(), Metrics()
    runner.gate.clear()
    async with engine_of(runner, metrics=metrics, cache_bytes=10**6) as engine:
        calls = [asyncio.create_task(engine.translate([sentence("abc")])) for _ in range(9)]
        calls.append(asyncio.create_task(engine.translate([sentence("abc")] * 5)))
        await eventually(runner.is_stepping.is_set)
        runner.gate.set()
        for outcomes in await asyncio.gather(*calls):
            assert set(texts_of(outcomes)) == {"ABC"}
        assert len(runner.admitted) == 1
        assert num_looked_up(metrics) == {"hit": 0, "joined": 13, "miss": 1}


async def test_cancelling_the_first_of_several_leaves_the_others_their_result() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        first = asyncio.create_task(engine.translate([sentence("abc"), sentence("z" * 30)]))
        await eventually(runner.is_stepping.is_set)
        second = asyncio.create_task(engine.translate([sentence("abc")]))
        third = asyncio.create_task(engine.translate([sentence("abc")]))
        await asyncio.sleep(0)
        first.cancel()
        third.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        runner.gate.set()
        assert texts_of(await second) == ["ABC"]
        await emptied(engine)
        assert runner.num_steps < 10
        assert [len(ids) for ids in runner.admitted] in ([5, 32], [32, 5])


async def test_when_the_last_that_wants_it_leaves_a_sentence_is_evicted() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        calls = [asyncio.create_task(engine.translate([sentence("x" * 30)])) for _ in range(3)]
        await eventually(runner.is_stepping.is_set)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        runner.gate.set()
        await emptied(engine)
        assert runner.num_steps <= 2
        assert runner.num_free_slots == runner.max_slots
        assert texts_of(await engine.translate([sentence("x" * 30)])) == ["X" * 30]


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_deadline_of_one_does_not_end_the_others(is_first: bool) -> None:
    runner = FakeRunner()
    runner.gate.clear()
    deadlines = [0.02, None] if is_first else [None, 0.02]
    async with engine_of(runner, cache_bytes=10**6) as engine:
        calls = []
        for deadline in deadlines:
            calls.append(asyncio.create_task(engine.translate([sentence("abc")], deadline)))
            await asyncio.sleep(0)
        hurried, patient = calls if is_first else calls[::-1]
        [outcome] = await hurried
        assert outcome.error is not None
        assert outcome.error.code == "deadline"
        runner.gate.set()
        assert texts_of(await patient) == ["ABC"]
        assert len(runner.admitted) == 1


async def test_after_a_deadline_that_all_missed_nothing_is_cached_or_joined() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        hurried = asyncio.create_task(engine.translate([sentence("abc")] * 2, 0.02))
        assert {o.error.code for o in await hurried if o.error} == {"deadline"}
        late = asyncio.create_task(engine.translate([sentence("abc")]))
        await asyncio.sleep(0)
        runner.gate.set()
        assert texts_of(await late) == ["ABC"]
        await emptied(engine)


async def test_errors_are_told_to_all_and_not_cached() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        calls = [asyncio.create_task(engine.translate([sentence("abc")])) for _ in range(3)]
        await eventually(runner.is_stepping.is_set)
        runner.fail_next_step = True
        runner.gate.set()
        for [outcome] in await asyncio.gather(*calls):
            assert outcome.error is not None
        assert texts_of(await engine.translate([sentence("abc")])) == ["ABC"]


async def test_streams_that_join_early_or_late_get_the_whole_text() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    text = "abcdefghijklmnopqrstuvwxyz"
    async with engine_of(runner, cache_bytes=10**6) as engine:
        first = asyncio.create_task(streamed(engine, sentence(text)))
        await eventually(runner.is_stepping.is_set)
        early = asyncio.create_task(streamed(engine, sentence(text)))
        runner.gate.set()
        await eventually(lambda: runner.num_steps > 5)
        late = asyncio.create_task(streamed(engine, sentence(text)))
        whole = asyncio.create_task(engine.translate([sentence(text)]))
        for pieces, final in await asyncio.gather(first, early, late):
            assert final == text.upper()
            assert final.startswith(pieces)
        assert texts_of(await whole) == [text.upper()]
        assert len(runner.admitted) == 1


async def test_a_stream_that_joins_a_sentence_without_one_gets_its_tokens_from_the_first() -> None:
    runner = FakeRunner()
    text = "abcdefghij" * 3
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        whole = asyncio.create_task(engine.translate([sentence(text)]))
        await eventually(runner.is_stepping.is_set)
        joined = asyncio.create_task(streamed(engine, sentence(text)))
        await asyncio.sleep(0)
        runner.gate.set()
        pieces, final = await joined
        assert final == text.upper()
        assert len(pieces) > 20
        assert final.startswith(pieces)
        assert texts_of(await whole) == [text.upper()]
        assert len(runner.admitted) == 1


async def test_a_short_request_does_not_wait_for_the_same_sentence_of_a_document() -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        document = [sentence(f"{n:030d}") for n in range(60)] + [sentence("hi")]
        long = asyncio.create_task(engine.translate(document))
        await eventually(runner.is_stepping.is_set)
        short = asyncio.create_task(engine.translate([sentence("hi")]))
        await asyncio.sleep(0)
        runner.gate.set()
        assert texts_of(await short) == ["HI"]
        assert texts_of(await long)[-1] == "HI"
        assert runner.admitted.index(list(sentence("hi").ids)) < 10


async def test_a_hit_needs_no_room_and_a_miss_does() -> None:
    runner = FakeRunner(max_slots=1)
    async with engine_of(runner, cache_bytes=10**6, max_waiting_sentences=1) as engine:
        await engine.translate([sentence("known")])
        runner.gate.clear()
        runner.is_stepping.clear()
        running = asyncio.create_task(engine.translate([sentence("a" * 20)]))
        await eventually(runner.is_stepping.is_set)
        waiting = asyncio.create_task(engine.translate([sentence("b" * 20)]))
        await eventually(lambda: engine.num_waiting == 1)
        assert texts_of(await engine.translate([sentence("known")])) == ["KNOWN"]
        joined = asyncio.create_task(engine.translate([sentence("b" * 20)]))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await engine.translate([sentence("known"), sentence("unknown")])
        runner.gate.set()
        await asyncio.gather(running, waiting, joined)
        assert engine.num_waiting == 0


async def test_a_draining_engine_serves_no_hit() -> None:
    async with engine_of(FakeRunner(), cache_bytes=10**6) as engine:
        await engine.translate([sentence("a")])
        engine.refuse_new_work()
        with pytest.raises(Draining):
            await engine.translate([sentence("a")])
        outcomes = await engine.translate([sentence("a")], is_admitted=True)
        assert texts_of(outcomes) == ["A"]


async def test_what_draining_ends_gets_an_error_wherever_it_joined() -> None:
    runner = FakeRunner(max_slots=1)
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        calls = [asyncio.create_task(engine.translate([sentence("a" * 30)])) for _ in range(3)]
        await eventually(runner.is_stepping.is_set)
        engine.refuse_new_work()
        runner.gate.set()
        await asyncio.to_thread(engine.stop)
        for [outcome] in await asyncio.gather(*calls):
            assert isinstance(outcome.error, Draining) or texts_of([outcome]) == ["A" * 30]


async def test_times_of_one_that_joined_add_up_to_its_own_wait() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    async with engine_of(runner, cache_bytes=10**6) as engine:
        first = asyncio.create_task(engine.translate([sentence("abc")]))
        await eventually(runner.is_stepping.is_set)
        second = asyncio.create_task(engine.translate([sentence("abc")]))
        await asyncio.sleep(0)
        runner.gate.set()
        [leader], [joined] = await asyncio.gather(first, second)
        ends = [o.arrived + o.queue + o.encode + o.decode for o in (leader, joined)]
        assert ends[0] == pytest.approx(ends[1])
        assert joined.arrived > leader.arrived
        assert min(joined.queue, joined.encode, joined.decode) >= 0


@pytest.mark.parametrize("seed", range(4))
async def test_any_mix_is_answered_alike_with_and_without_the_cache(seed: int) -> None:
    """Lists, streams, deadlines, clients that leave, poison; few texts, so that most are equal."""

    async def serve(cache_bytes: int) -> list[Sequence[str] | str | None]:
        rng, runner = random.Random(seed), FakeRunner(max_slots=3, max_rows=16)
        async with engine_of(runner, cache_bytes=cache_bytes) as engine:

            async def call(texts: list[str], beam_size: int) -> Sequence[str]:
                outcomes = await engine.translate([sentence(t, beam_size=beam_size) for t in texts])
                return [o.error.code if o.error else texts_of([o])[0] for o in outcomes]

            tasks: list[asyncio.Task[Sequence[str]]] = []
            left: set[int] = set()
            for number in range(150):
                texts = rng.choices(
                    ["a", "bb", "☠", "c" * 9, "d" * 20, "e" * 30], k=rng.randint(1, 5)
                )
                tasks.append(asyncio.create_task(call(texts, rng.choice((1, 1, 4)))))
                if rng.random() < 0.3:
                    await asyncio.sleep(0.001)
                if rng.random() < 0.2:
                    left.add(rng.randrange(number + 1))
                    tasks[max(left)].cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await emptied(engine)
            assert (runner.num_free_slots, runner.num_free_rows) == (3, 16)
            assert engine.admission.num_tokens == 0
            assert {worker.load for worker in engine._workers} == {0}
            assert not engine._shared._tasks
            return [None if isinstance(r, BaseException) else r for r in results]

    async with asyncio.timeout(60):
        with_cache, without = await serve(10**6), await serve(0)
    for one, other in zip(with_cache, without, strict=True):
        assert one == other or None in (one, other)
