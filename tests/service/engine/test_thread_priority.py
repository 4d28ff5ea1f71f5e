"""The event loop goes before the workers when there are too few cores."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence

import pytest

from model.decoding.sentence import StepResult
from service.engine.engine import Engine, EngineLimits
from service.engine.worker import NICENESS, lower_own_priority
from service.observability.metrics import Metrics
from tests.service.fakes import FakeRunner, sentence, texts_of


def niceness_of_this_thread() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


class PriorityRunner(FakeRunner):
    """Notes the niceness of the thread that steps it."""

    niceness = 0

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.niceness = niceness_of_this_thread()
        return super().step(handles)


async def test_a_worker_is_nicer_than_the_event_loop_and_leaves_that_as_it_is() -> None:
    runner, before = PriorityRunner(), niceness_of_this_thread()

    limits = EngineLimits(10, max_waiting_tokens=100, max_prefill_tokens=100)
    engine = Engine([lambda: runner], Metrics().of_model("fake"), limits)
    engine.start()
    try:
        assert texts_of(await engine.translate([sentence("a")])) == ["A"]
    finally:
        await asyncio.to_thread(engine.stop)
    assert niceness_of_this_thread() == before
    assert runner.niceness == min(before + NICENESS, 19)


def test_a_worker_serves_where_the_system_refuses_to_change_priorities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    before = niceness_of_this_thread()
    lower_own_priority()
    assert niceness_of_this_thread() == before
