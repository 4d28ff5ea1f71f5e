"""What a person sees of a batch: who runs, who left, and only numbers."""

from __future__ import annotations

import asyncio

from service.engine.batch_entries import RecentEntries, running_entries
from service.engine.engine import Engine, EngineLimits
from service.engine.sentence_task import EngineRequest, SentenceTask
from service.observability.metrics import Metrics
from tests.service.fakes import FakeRunner, eventually, sentence

LIMITS = EngineLimits(100, 10_000, 1000)


async def task(handle: int) -> SentenceTask:
    request = EngineRequest(asyncio.get_running_loop().create_future(), 0.0, 1)
    made = SentenceTask(sentence("four", beam_size=3), request, 0)
    made.handle, made.num_steps, made.admitted_seconds = handle, 7, 2.5
    return made


def test_an_entry_has_the_numbers_of_its_task() -> None:
    (entry,) = running_entries([asyncio.run(task(5))])
    assert entry == (5, 3, 6, 7, 2.5, None)


def test_those_that_left_are_kept_in_order_and_are_few() -> None:
    async def tasks() -> list[SentenceTask]:
        return [await task(number) for number in range(300)]

    recent = RecentEntries()
    for left, one in enumerate(asyncio.run(tasks())):
        recent.add(one, float(left))
    assert [entry.number for entry in recent.since(297.0)] == [298, 299]
    assert [entry.number for entry in recent.since(0.0)] == list(range(44, 300))


def test_an_engine_shows_who_runs_and_who_left() -> None:
    async def scenario() -> None:
        runner = FakeRunner()
        engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
        engine.start()
        runner.gate.clear()
        asked = asyncio.create_task(engine.translate([sentence("ab"), sentence("abcd")]))
        await eventually(lambda: engine.num_running == 2)
        (entries,) = engine.batch_entries(0.0)
        assert [entry.left for entry in entries] == [None, None]
        assert {entry.num_tokens for entry in entries} == {4, 6}
        runner.gate.set()
        await asked
        (entries,) = engine.batch_entries(0.0)
        assert sorted(entry.num_steps for entry in entries) == [4, 6]
        assert all(entry.left is not None and entry.left >= entry.joined for entry in entries)
        engine.stop()

    asyncio.run(scenario())


def test_an_engine_without_sentences_shows_none() -> None:
    async def scenario() -> None:
        runner = FakeRunner()
        engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
        assert engine.batch_entries(0.0) == [[]]

    asyncio.run(scenario())
