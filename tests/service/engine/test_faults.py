"""Whatever raises, and wherever the loop calls it: every request is answered, and service goes on.

A fault is the nth use of a name of a runner, a schedule or the metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

import service.engine.engine
from model.backends.device_lost import DeviceLost
from service.engine.engine import Engine
from service.engine.engine_runner import EngineRunner
from service.engine.schedule import Schedule
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.engine.worker import Worker
from service.errors import ServiceError
from service.observability.metrics import Metrics, ModelMetrics
from service.signals import EXIT_DEVICE_LOST
from tests.service.fakes import LIMITS, FakeRunner, emptied, eventually, sentence, texts_of

RUNNER = (
    *("runner.admit", "runner.step", "runner.release", "runner.share_cores", "runner.max_rows"),
    *("runner.num_free_slots", "runner.num_free_rows"),
)
SCHEDULE = ("schedule.newcomers", "schedule.choose", "schedule.account", "schedule.waiting")
RUNNING = (
    *("running.enter", "running.leave", "running.note_step", "running.waits_since"),
    *("running.by_handle", "running.num_rows_to", "running.highest_level"),
)
METRICS = (
    *("metrics.count_finished", "metrics.count_cancelled", "metrics.count_source_tokens"),
    *("metrics.queue_wait_seconds", "metrics.encode_seconds", "metrics.decode_step_seconds"),
    *("metrics.time_to_first_token_seconds", "metrics.inter_token_seconds", "metrics.step_rows"),
)
CONSTRUCTION = ("make_runner", "make_schedule", "metrics.engine_restarts")


@dataclass
class Fault:
    """Raises at the nth use of each of the names, and at the `repeats` uses after it."""

    names: Sequence[str]
    nth: int = 1
    repeats: int = 0
    error: Exception | None = None
    is_armed: bool = field(default=False, init=False)
    struck: set[str] = field(default_factory=set, init=False)
    num_uses: Counter[str] = field(default_factory=Counter, init=False)

    def use(self, name: str) -> None:
        if name not in self.names or not self.is_armed:
            return
        self.num_uses[name] += 1
        if self.nth <= self.num_uses[name] <= self.nth + self.repeats:
            self.struck.add(name)
            raise self.error or RuntimeError(f"use {self.num_uses[name]} of {name} fails")


class Watched:
    """Something whose every use may be the fault."""

    def __init__(self, target: Any, kind: str, fault: Fault) -> None:
        self._target, self._kind, self._fault = target, kind, fault

    def __getattr__(self, name: str) -> Any:
        self._fault.use(f"{self._kind}.{name}")
        return getattr(self._target, name)

    def __len__(self) -> int:
        return len(self._target)


class Scene:
    """An engine of one worker with four slots, whose parts are watched."""

    def __init__(self, fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault = fault
        self.runners: list[FakeRunner] = []
        self.busy_workers: set[Worker] = set()

        def make_schedule(runner: EngineRunner, *arguments: Any) -> Any:
            fault.use("make_schedule")
            schedule: Any = Schedule(runner, *arguments)
            schedule.running = Watched(schedule.running, "running", fault)
            return Watched(schedule, "schedule", fault)

        monkeypatch.setattr(service.engine.engine, "Schedule", make_schedule)
        metrics = cast(ModelMetrics, Watched(Metrics().of_model("fake"), "metrics", fault))
        self.reasons: list[str] = []
        self.engine = Engine(
            [self._make_runner],
            metrics,
            LIMITS,
            self.busy_workers,
            end_process=self.reasons.append,
        )

    def _make_runner(self) -> Any:
        self.fault.use("make_runner")
        self.runners.append(FakeRunner(max_slots=4))
        return Watched(self.runners[-1], "runner", self.fault)

    async def play(self) -> list[BaseException | list[SentenceOutcome]]:
        """A list with a sentence that is refused, a stream, a client that leaves, one whose stream
        is left, and deadlines that are over while sentences wait for a step and for a slot."""
        runner = self.runners[0]
        runner.gate.clear()
        engine, calls = self.engine, list[Awaitable[list[SentenceOutcome]]]()
        leaving = asyncio.create_task(engine.translate([sentence("x" * 30), sentence("y" * 30)]))
        left_stream = asyncio.create_task(self._stream("s" * 30))
        await eventually(lambda: runner.is_stepping.is_set() or bool(self.fault.struck))
        calls.append(engine.translate([sentence(text) for text in ("aa", "☠", "b" * 20)]))
        calls.append(engine.translate([sentence("c" * 40)] * 3, Ticket.issued("", 0.0)))
        calls.append(self._stream("d" * 9))
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.wait([tasks[1]])
        leaving.cancel()
        left_stream.cancel()
        await asyncio.sleep(0)
        runner.gate.set()
        late = engine.translate([sentence("e" * 40)] * 9, Ticket.issued("", 0.0))
        tasks.append(asyncio.ensure_future(late))
        return await asyncio.gather(leaving, left_stream, *tasks, return_exceptions=True)

    async def _stream(self, text: str) -> list[SentenceOutcome]:
        async with self.engine.stream([replace(sentence(text), is_streamed=True)]) as updates:
            return [update.outcome async for update in updates if update.outcome]

    async def expect_all_answered(self) -> None:
        """Each call has an outcome a sentence, or an error."""
        async with asyncio.timeout(60):
            answers = await self.play()
        for answer, count in zip(answers, (2, 1, 3, 3, 1, 9), strict=True):
            if isinstance(answer, list):
                assert len(answer) == count
                assert all(bool(o.hypotheses) != bool(o.error) for o in answer)
            else:
                assert isinstance(answer, ServiceError | asyncio.CancelledError)

    async def expect_nothing_left(self) -> None:
        engine = self.engine
        await eventually(lambda: engine.is_ready)
        await emptied(engine)
        await eventually(lambda: not self.busy_workers)
        assert {worker.load for worker in engine._workers} == {0}

    async def expect_service(self) -> None:
        """After a last strike, which may still fail the first request, all is translated."""
        async with asyncio.timeout(60):
            with contextlib.suppress(ServiceError):
                await self.engine.translate([sentence("z")])
            await eventually(lambda: self.engine.is_ready)
            for _ in range(3):
                outcomes = await self.engine.translate([sentence("f"), sentence("gg")])
                assert texts_of(outcomes) == ["F", "GG"]
            last = self.runners[-1]
            assert (last.num_free_slots, last.num_free_rows) == (4, 16)


async def play(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(fault, monkeypatch)
    scene.engine.start()
    try:
        fault.is_armed = True
        await scene.expect_all_answered()
        await scene.expect_nothing_left()
        fault.is_armed = False
        await scene.expect_service()
    finally:
        scene.runners[0].gate.set()
        scene.engine.stop()


@pytest.mark.parametrize("name", [*RUNNER, *SCHEDULE, *RUNNING, *METRICS])
@pytest.mark.parametrize(("nth", "repeats"), [(1, 0), (2, 0), (3, 0), (5, 0), (9, 0), (1, 3)])
async def test_a_fault_anywhere_leaves_no_request_without_an_answer(
    name: str, nth: int, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault([name], nth, repeats)
    await play(fault, monkeypatch)
    assert fault.struck or nth > 1


@pytest.mark.parametrize("name", CONSTRUCTION)
async def test_an_engine_is_rebuilt_though_it_fails_at_first(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(["runner.share_cores", name])
    await play(fault, monkeypatch)
    assert fault.struck == {"runner.share_cores", name}


@pytest.mark.parametrize("name", ["runner.admit", "runner.step", "runner.release"])
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_lost_device_ends_the_process_with_the_reason_after_all_are_answered(
    name: str, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on every use of it fails."""
    fault = Fault([name], nth, 10**9, DeviceLost("cuda:0 does not compute any more"))
    scene = Scene(fault, monkeypatch)
    scene.engine.start()
    fault.is_armed = True
    await scene.expect_all_answered()
    await eventually(lambda: bool(scene.reasons))
    assert scene.reasons == ["cuda:0 does not compute any more"]
    assert not scene.engine.is_ready
    scene.engine.stop()


@pytest.mark.parametrize("error", [DeviceLost("cuda is lost"), RuntimeError("out of memory")])
async def test_the_process_ends_if_no_new_runner_can_be_built(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.engine.worker._REBUILD_SECONDS", (0.0, 0.2))

    broken, reasons, built = FakeRunner(), list[str](), list[float]()
    broken.fail_next_step = broken.fail_release = True

    def make_runner() -> EngineRunner:
        built.append(time.monotonic())
        if len(built) > 1:
            raise error
        return broken

    metrics = Metrics().of_model("fake")
    engine = Engine([make_runner], metrics, LIMITS, None, 3, reasons.append)
    engine.start()
    await engine.translate([sentence("x")])
    await eventually(lambda: bool(reasons))
    is_lost = isinstance(error, DeviceLost)
    assert len(built) == (2 if is_lost else 4)
    assert all(later - earlier >= 0.2 for earlier, later in itertools.pairwise(built[1:]))
    assert reasons == ["cuda is lost" if is_lost else "the engine could not be rebuilt 3 times"]
    engine.stop()


SCRIPT = """
import asyncio, logging
from tests.service.engine.test_faults import *
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

async def serve():
    fault = Fault(["runner.step"], error=DeviceLost("cuda:0 does not compute any more"))
    runner = Watched(FakeRunner(), "runner", fault)
    engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
    engine.start()
    fault.is_armed = True
    print("answer:", (await engine.translate([sentence("x")]))[0].error, flush=True)
    await asyncio.sleep(60)

asyncio.run(serve())
"""


def test_the_exit_status_tells_the_supervisor_and_one_line_says_why() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == EXIT_DEVICE_LOST
    assert "answer: the engine is not running" in ended.stdout
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith("CRITICAL the process ends: cuda:0 does not compute any more")


@pytest.mark.parametrize("nth", [1, 2])
async def test_an_engine_without_threads_for_all_workers_leaves_none(
    nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = threading.Thread.start, list[threading.Thread]()

    def start_some(thread: threading.Thread) -> None:
        if len(started) + 1 == nth:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    engine = Engine([FakeRunner, FakeRunner], Metrics().of_model("fake"), LIMITS)
    with pytest.raises(RuntimeError, match="start new thread"):
        engine.start()
    assert not engine.is_ready
    assert not any(thread.is_alive() for thread in started)
