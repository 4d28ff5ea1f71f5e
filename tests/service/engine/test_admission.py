"""The queue's bounds count exactly, and its head is not overtaken."""

from __future__ import annotations

import pytest

from service.engine.admission import AdmissionControl
from service.engine.schedule import Schedule
from service.errors import Overloaded
from tests.service.conftest import MakeTasks
from tests.service.fakes import FakeRunner


def test_as_many_may_wait_as_the_bounds_say_and_not_one_more(tasks_of: MakeTasks) -> None:
    waiting = tasks_of(1, 1, 1)
    num_tokens = sum(task.num_tokens for task in waiting)
    admission = AdmissionControl(4, num_tokens + 5)
    admission.require_room(100, 100)  # an empty queue accepts any one request
    admission.enter(waiting)
    admission.require_room(1, 5)
    for num_sentences, tokens in ((2, 0), (1, 6)):
        with pytest.raises(Overloaded):
            admission.require_room(num_sentences, tokens)
    admission.leave(waiting[:1])
    admission.leave(waiting[:1])
    admission.require_room(2, 5)
    assert admission.num_sentences == 2


def test_short_work_does_not_overtake_a_wide_beam_whose_turn_it_is(tasks_of: MakeTasks) -> None:
    runner = FakeRunner(max_slots=64, max_rows=50)
    schedule = Schedule(runner, max_prefill_tokens=1000)
    running = tasks_of(*[1] * 40)
    for task, handle in zip(running, runner.admit([t.sentence for t in running]), strict=True):
        task.handle, schedule.running[handle] = handle, task
    schedule.choose()
    schedule.account(1.0)  # earns time for short work
    wide, short = tasks_of(*[16] * 4, arrived=1.0), tasks_of(1, arrived=2.0)
    schedule.waiting.add([*wide, *short])
    assert schedule.newcomers() == []
