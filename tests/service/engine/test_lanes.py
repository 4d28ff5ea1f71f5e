"""What a person sees of a batch: who runs, who left, and only numbers."""

from __future__ import annotations

import asyncio

from service.engine.engine import Engine, EngineLimits
from service.engine.lanes import RecentLanes, running_lanes
from service.engine.sentence_task import EngineRequest, SentenceTask
from service.observability.metrics import Metrics
from tests.service.fakes import FakeRunner, eventually, sentence

LIMITS = EngineLimits(100, 10_000, 1000)


async def task(handle: int) -> SentenceTask:
    request = EngineRequest(asyncio.get_running_loop().create_future(), 0.0, 1)
    made = SentenceTask(sentence("four", beam_size=3), request, 0)
    made.handle, made.num_steps, made.admitted_seconds = handle, 7, 2.5
    return made


def test_a_lane_has_the_numbers_of_its_task() -> None:
    (lane,) = running_lanes([asyncio.run(task(5))])
    assert lane == (5, 3, 6, 7, 2.5, None)


def test_those_that_left_are_kept_in_order_and_are_few() -> None:
    async def tasks() -> list[SentenceTask]:
        return [await task(number) for number in range(300)]

    recent = RecentLanes()
    for left, one in enumerate(asyncio.run(tasks())):
        recent.add(one, float(left))
    assert [lane.number for lane in recent.since(297.0)] == [298, 299]
    assert [lane.number for lane in recent.since(0.0)] == list(range(44, 300))


def test_an_engine_shows_who_runs_and_who_left() -> None:
    async def scenario() -> None:
        runner = FakeRunner()
        engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
        engine.start()
        runner.gate.clear()
        asked = asyncio.create_task(engine.translate([sentence("ab"), sentence("abcd")]))
        await eventually(lambda: engine.num_running == 2)
        (lanes,) = engine.lanes(0.0)
        assert [lane.left for lane in lanes] == [None, None]
        assert {lane.num_tokens for lane in lanes} == {4, 6}
        runner.gate.set()
        await asked
        (lanes,) = engine.lanes(0.0)
        assert sorted(lane.num_steps for lane in lanes) == [4, 6]
        assert all(lane.left is not None and lane.left >= lane.joined for lane in lanes)
        engine.stop()

    asyncio.run(scenario())


def test_an_engine_without_sentences_shows_none() -> None:
    async def scenario() -> None:
        runner = FakeRunner()
        engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
        assert engine.lanes(0.0) == [[]]

    asyncio.run(scenario())
