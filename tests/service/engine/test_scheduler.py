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


def test_short_work_is_admitted_first_and_long_work_not_last(request_of: MakeRequest) -> None:
    """Every 32nd step takes tasks of the level that has waited longest."""
    scheduler, long, short = Scheduler(1000), request_of(*[4] * 200), request_of(*[1] * 80)
    scheduler.add(long.tasks)
    scheduler.add(short.tasks)
    assert scheduler.lowest_level < long.tasks[0].level
    taken = [scheduler.take(1, 99)[0].request for _ in range(64)]
    assert [request is long for request in taken] == ([False] * 31 + [True]) * 2


def test_long_work_is_admitted_though_short_work_leaves_no_room(request_of: MakeRequest) -> None:
    scheduler, long = Scheduler(1000), request_of(*[4] * 200)
    scheduler.add(long.tasks)
    taken = [scheduler.take(9, 99, num_running=50, num_wanted=0) for _ in range(64)]
    assert [len(tasks) for tasks in taken] == ([0] * 31 + [9]) * 2


def test_steps_without_a_free_slot_pass_nobody_over(request_of: MakeRequest) -> None:
    scheduler, long, short = Scheduler(1000), request_of(*[4] * 200), request_of(1, 1)
    scheduler.add(long.tasks)
    scheduler.add(short.tasks)
    for _ in range(20):
        assert scheduler.take(0, 99, num_running=50, num_wanted=0) == []
    assert scheduler.take(2, 99) == short.tasks


def test_the_oldest_level_is_not_passed_over_for_long(request_of: MakeRequest) -> None:
    scheduler = Scheduler(1000)
    requests = [request_of(*[4] * count) for count in (1000, 300, 40)]
    for seconds, request in zip((2.0, 1.0, 3.0), requests, strict=True):
        request.arrived_seconds = seconds
        scheduler.add(request.tasks)
    taken = [scheduler.take(1, 9)[0].request for _ in range(32)]
    assert taken == [requests[2]] * 31 + [requests[1]]


def test_short_work_is_taken_ahead_up_to_its_level(request_of: MakeRequest) -> None:
    scheduler, long, short = Scheduler(1000), request_of(*[4] * 200), request_of(1, 1)
    scheduler.add(long.tasks)
    assert scheduler.take_short(9, 99, max_level=0, max_tokens=99) == []
    scheduler.add(short.tasks)
    assert scheduler.take_short(9, 99, max_level=-1, max_tokens=99) == []
    assert scheduler.take_short(9, 99, max_level=0, max_tokens=1) == short.tasks[:1]
    assert scheduler.take_short(9, 99, max_level=0, max_tokens=99) == short.tasks[1:]


def test_short_work_does_not_take_the_rows_that_a_wide_beam_waits_for(
    request_of: MakeRequest,
) -> None:
    scheduler, wide, short = Scheduler(1000), request_of(16, 16), request_of(1)
    scheduler.add(wide.tasks)
    assert scheduler.take(9, 15) == []
    scheduler.add(short.tasks)
    assert scheduler.take(9, 15) == []
    assert scheduler.take_short(9, 15, max_level=0, max_tokens=99) == []
    assert scheduler.take(9, 17)[0] is wide.tasks[0]


def test_a_wide_beam_that_leaves_lets_others_in(request_of: MakeRequest) -> None:
    scheduler, wide, short = Scheduler(1000), request_of(16), request_of(1)
    scheduler.add(wide.tasks)
    assert scheduler.take(9, 15) == []
    scheduler.remove(wide)
    scheduler.add(short.tasks)
    assert scheduler.take_short(9, 15, max_level=0, max_tokens=99) == short.tasks


def test_all_work_is_equal_where_nothing_is_expected_of_requests(request_of: MakeRequest) -> None:
    scheduler, long, short = Scheduler(1000), request_of(*[4] * 200), request_of(1)
    for request in (long, short):
        request.expected_work = 0
        scheduler.add(request.tasks)
    assert scheduler.take(3, 99) == [long.tasks[0], short.tasks[0], long.tasks[1]]
