"""A GPU whose context is broken: every request is answered, and the process ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest

from model.decoding.sentence import SourceSentence, StepResult
from model.device_lost import DeviceLost
from service.engine.engine import Engine
from service.engine.interfaces import Runner
from service.engine.sentence_task import SentenceOutcome
from service.errors import NotReady
from service.observability.metrics import Metrics
from service.signals import EXIT_DEVICE_LOST
from tests.service.fakes import LIMITS, FakeRunner, eventually, sentence


class BreakingRunner(FakeRunner):
    """From `break_down` on, every use of the device fails."""

    def __init__(self) -> None:
        super().__init__(max_slots=8)
        self.is_lost = False

    def _use(self) -> None:
        if self.is_lost:
            raise DeviceLost("cuda:0 does not compute any more: an illegal memory access")

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        self._use()
        return super().admit(sentences)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self._use()
        return super().step(handles)

    def release(self, handle: int) -> None:
        self._use()
        super().release(handle)


def error_of(answer: BaseException | list[SentenceOutcome]) -> BaseException | None:
    return answer[0].error if isinstance(answer, list) else answer


@pytest.mark.parametrize("num_running", [0, 1, 3])
async def test_all_are_answered_and_the_process_ends_with_the_reason(num_running: int) -> None:
    runner, reasons = BreakingRunner(), list[str]()
    runners: list[Runner] = [runner]
    metrics = Metrics().of_model("fake")
    engine = Engine([runners.pop], metrics, LIMITS, end_process=reasons.append)
    engine.start()
    runner.gate.clear()
    tasks = [
        asyncio.create_task(engine.translate([sentence("x" * 40)])) for _ in range(num_running)
    ]
    if num_running:
        await eventually(runner.is_stepping.is_set)
    runner.is_lost = True
    runner.gate.set()
    tasks.append(asyncio.create_task(engine.translate([sentence("late")])))
    async with asyncio.timeout(60):
        answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(error_of(answer), NotReady) for answer in answers)
    await eventually(lambda: bool(reasons))
    assert reasons == ["cuda:0 does not compute any more: an illegal memory access"]
    assert not engine.is_ready
    engine.stop()


@pytest.mark.parametrize("error", [DeviceLost("cuda is lost"), RuntimeError("out of memory")])
async def test_the_process_ends_if_no_new_runner_can_be_built(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.engine.worker._REBUILD_SECONDS", (0.0,))

    broken, reasons, built = FakeRunner(), list[str](), list[int]()
    broken.fail_release = True

    def make_runner() -> Runner:
        built.append(1)
        if len(built) > 1:
            raise error
        return broken

    metrics = Metrics().of_model("fake")
    engine = Engine([make_runner], metrics, LIMITS, None, 3, reasons.append)
    engine.start()
    broken.gate.clear()
    task = asyncio.create_task(engine.translate([sentence("x" * 40)]))
    await eventually(broken.is_stepping.is_set)
    task.cancel()
    await asyncio.sleep(0)
    broken.gate.set()
    await eventually(lambda: bool(reasons))
    is_lost = isinstance(error, DeviceLost)
    assert len(built) == (2 if is_lost else 4)
    assert reasons == ["cuda is lost" if is_lost else "the engine could not be rebuilt 3 times"]
    engine.stop()


SCRIPT = """
import asyncio, logging
from tests.service.engine.test_device_lost import *
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

async def serve():
    runner = BreakingRunner()
    engine = Engine([lambda: runner], Metrics().of_model("fake"), LIMITS)
    engine.start()
    runner.is_lost = True
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
