from __future__ import annotations

import random

from service.engine.scheduler import Scheduler
from service.engine.sentence_task import SentenceTask
from tests.service.conftest import MakeRequest


def test_the_oldest_are_taken_first_while_slots_last(request_of: MakeRequest) -> None:
    scheduler, request = Scheduler(max_prefill_tokens=1000), request_of(1, 1, 1)
    scheduler.add(request.tasks)
    assert scheduler.take(num_free_slots=2, num_free_rows=9) == request.tasks[:2]
    assert scheduler.take(num_free_slots=2, num_free_rows=9) == request.tasks[2:]


def test_a_wide_beam_waits_for_rows_and_is_not_overtaken(request_of: MakeRequest) -> None:
    scheduler, request = Scheduler(max_prefill_tokens=1000), request_of(4, 1)
    scheduler.add(request.tasks)
    assert scheduler.take(num_free_slots=2, num_free_rows=3) == []
    assert scheduler.take(num_free_slots=2, num_free_rows=5) == request.tasks


def test_removing_a_request_leaves_the_others_in_order(request_of: MakeRequest) -> None:
    scheduler, first, second = Scheduler(max_prefill_tokens=1000), request_of(1, 1), request_of(1)
    scheduler.add([first.tasks[0], second.tasks[0], first.tasks[1]])
    assert scheduler.remove(second) == second.tasks
    assert scheduler.take(num_free_slots=9, num_free_rows=9) == first.tasks
    assert not scheduler


def test_never_more_is_taken_than_fits(request_of: MakeRequest) -> None:
    """Over random arrivals, and nothing is lost."""
    rng = random.Random(1)
    request = request_of(*(rng.randint(1, 8) for _ in range(200)))
    scheduler = Scheduler(max_prefill_tokens=1000)
    scheduler.add(request.tasks)
    taken: list[SentenceTask] = []
    while scheduler:
        slots, rows = rng.randint(1, 5), rng.randint(8, 20)
        batch = scheduler.take(slots, rows)
        assert len(batch) <= slots
        assert sum(task.num_rows for task in batch) <= rows
        taken += batch
    assert taken == request.tasks


def test_requests_alternate_and_each_keeps_its_order(request_of: MakeRequest) -> None:
    scheduler, many, few = Scheduler(1000), request_of(1, 1, 1, 1), request_of(1, 1)
    scheduler.add(many.tasks)
    scheduler.add(few.tasks)
    taken = scheduler.take(num_free_slots=9, num_free_rows=9)
    a, b = many.tasks, few.tasks
    assert taken == [a[0], b[0], a[1], b[1], a[2], a[3]]


def test_the_prefill_budget_bounds_an_admission_but_never_stops_the_first(
    request_of: MakeRequest,
) -> None:
    request = request_of(1, 1, 1, 1, 1)
    assert {task.num_tokens for task in request.tasks} == {3}
    scheduler = Scheduler(max_prefill_tokens=7)
    scheduler.add(request.tasks)
    assert [len(scheduler.take(9, 9)) for _ in range(3)] == [2, 2, 1]
    scheduler = Scheduler(max_prefill_tokens=1)
    scheduler.add(request.tasks)
    assert len(scheduler.take(9, 9)) == 1


def test_under_load_newcomers_wait_for_each_other_but_not_for_long(
    request_of: MakeRequest,
) -> None:
    """A quarter of those that run is worth an encoding; fewer wait at most eight turns."""
    scheduler, request = Scheduler(1000), request_of(1, 1, 1, 1, 1)
    first, second, third, fourth, fifth = request.tasks
    scheduler.add([first])
    assert scheduler.take(9, 9, num_running=12) == [first]
    scheduler.add([second])
    assert scheduler.take(9, 9, num_running=12) == []
    scheduler.add([third, fourth])
    assert scheduler.take(9, 9, num_running=12) == [second, third, fourth]
    scheduler.add([fifth])
    turns = [scheduler.take(9, 9, num_running=12) for _ in range(9)]
    assert turns == [[]] * 8 + [[fifth]]


def test_one_that_comes_alone_is_taken_at_once(request_of: MakeRequest) -> None:
    """However many run, if nobody was taken in the last eight turns."""
    scheduler, request = Scheduler(1000), request_of(1, 1)
    scheduler.add(request.tasks[:1])
    assert scheduler.take(9, 9) == request.tasks[:1]
    for _ in range(8):
        assert scheduler.take(9, 9, num_running=64) == []
    scheduler.add(request.tasks[1:])
    assert scheduler.take(9, 9, num_running=64) == request.tasks[1:]
