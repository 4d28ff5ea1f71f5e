"""Running tasks: what is counted for all at once is what each would count by itself."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import service
from service.engine.running import RunningTasks
from service.engine.sentence_task import SentenceTask, level_of
from tests.service.conftest import MakeTasks
from tests.service.engine.simulation import Arrival, Cost, Policy, Simulation

ROWS_ARE_FREE = Cost(1.0, 1e-6, 0.0, 1e-3, 1e-6)
ENGINE = str(Path(service.__file__).parent / "engine")


@dataclass
class Known:
    """What a task would count by itself."""

    task: SentenceTask
    stepped_seconds: float
    num_steps: int = 0

    @property
    def level(self) -> int:
        attained = self.task.num_tokens + self.task.num_rows * self.num_steps
        return level_of(max(attained, self.task.request_work))


@dataclass
class Model:
    """Running tasks, each counted by itself."""

    known: dict[int, Known] = field(default_factory=dict)

    def waits_since(self, chosen: list[int]) -> float | None:
        seconds = [k.stepped_seconds for h in chosen if (k := self.known[h]).num_steps]
        return min(seconds, default=None)

    def step(self, chosen: list[int], now: float) -> set[SentenceTask]:
        first = {k.task for h in chosen if not (k := self.known[h]).num_steps}
        for handle in chosen:
            self.known[handle].num_steps += 1
            self.known[handle].stepped_seconds = now
        return first

    def check(self, running: RunningTasks) -> None:
        known = list(self.known.values())
        assert [running.num_steps(k.task) for k in known] == [k.num_steps for k in known]
        assert [k.task.level for k in known] == [k.level for k in known]
        assert running.num_rows == sum(k.task.num_rows for k in known)
        assert running.lowest_level == min((k.level for k in known), default=sys.maxsize)
        assert running.highest_level == max((k.level for k in known), default=0)
        for level in range(6):
            rows = sum(k.task.num_rows for k in known if k.level <= level)
            assert running.num_rows_to(level) == rows


def test_steps_and_levels_are_those_that_each_task_would_count(tasks_of: MakeTasks) -> None:
    rng, running, model, now = random.Random(3), RunningTasks(), Model(), 0.0
    for handle in range(3000):
        now += 1
        handles = list(model.known)
        for leaving in rng.sample(handles, k=min(len(handles), rng.choice((0, 0, 0, 1, 3)))):
            known = model.known.pop(leaving)
            assert running.leave(leaving) is known.task
            assert known.task.num_steps == known.num_steps
        if len(model.known) < 12 and rng.random() < 0.4:
            task, *_ = tasks_of(*[rng.choice((1, 4, 16))] * rng.choice((1, 1, 5, 60)))
            task.stepped_seconds = now
            running.enter(task, handle)
            model.known[handle] = Known(task, now)
        elif model.known and rng.random() < 0.05:
            task = rng.choice(list(model.known.values())).task
            task.request_work = min(task.request_work, rng.randint(8, 4000))
            running.renew_level(task)
        handles = list(model.known)
        if rng.random() < 0.5:
            chosen, given = handles, None
        else:
            chosen = [handle for handle in handles if rng.random() < 0.4]
            given = [model.known[handle].task for handle in chosen]
            order = sorted(
                running.by_level(), key=lambda task: model.known[task.handle or 0].stepped_seconds
            )
            assert running.by_wait(running.by_level()) == order
        assert running.waits_since(given) == model.waits_since(chosen)
        first = running.note_step(given, now, is_counted=True)
        assert set(first) == model.step(chosen, now)
        model.check(running)
    for handle in list(model.known):
        running.leave(handle)
    assert not running._rises
    assert not running._num_rows


class Instructions:
    """Counts those that Python executes in the engine's code."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> Instructions | None:
        if not frame.f_code.co_filename.startswith(ENGINE):
            return None
        frame.f_trace_opcodes = True
        self.count += event == "opcode"
        return self


def instructions_of_a_step(num_sentences: int, *, can_step_subset: bool) -> int:
    """Of a step of all running sentences, none of which ends or begins."""
    policy = Policy(max_slots=1000, can_step_subset=can_step_subset)
    simulation = Simulation(policy, ROWS_ARE_FREE)
    loop = simulation.batch_loop
    simulation.add(Arrival(0.0, [5] * num_sentences, [100] * num_sentences))
    while loop.num_running < num_sentences:
        loop.step(1)
    loop.step(1)
    counted = Instructions()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 must know before the trace begins
    sys.settrace(counted)
    try:
        loop.step(1)
    finally:
        sys.settrace(None)
    simulation.serve([])
    return counted.count


def test_a_step_of_all_costs_the_engine_the_same_for_few_and_many() -> None:
    for can_step_subset in (True, False):
        few, many = (
            instructions_of_a_step(count, can_step_subset=can_step_subset) for count in (2, 500)
        )
        assert abs(few - many) < 10
