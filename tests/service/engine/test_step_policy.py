"""Who steps: newcomers by themselves between steps of all, and nobody else is the poorer for it."""

from __future__ import annotations

import random

from service.engine.sentence_task import EngineRequest, SentenceTask
from service.engine.step_policy import StepPolicy
from tests.service.conftest import MakeRequest


def rows(tasks: list[SentenceTask]) -> int:
    return sum(task.num_rows for task in tasks)


def begun(turns: StepPolicy, request: EngineRequest, num_steps: int) -> list[SentenceTask]:
    """The request's sequences, running since that many steps."""
    for task in request.tasks:
        turns.enter(task)
    for _ in range(num_steps):
        turns.take(can_step_subset=True)
    return request.tasks


def test_a_newcomer_among_many_old_ones_steps_by_itself(request_of: MakeRequest) -> None:
    turns = StepPolicy()
    begun(turns, request_of(*[4] * 32), num_steps=40)
    newcomer = request_of(4).tasks[0]
    turns.enter(newcomer)
    assert [turns.take(can_step_subset=True) for _ in range(10)] == [[newcomer]] * 10


def test_all_step_where_leaving_out_is_impossible_or_saves_little(request_of: MakeRequest) -> None:
    for num_old, can_step_subset in ((32, False), (4, True)):
        turns = StepPolicy()
        begun(turns, request_of(*[4] * num_old), num_steps=40)
        turns.enter(request_of(4).tasks[0])
        assert [turns.take(can_step_subset) for _ in range(20)] == [None] * 20


def test_sentences_that_began_together_step_together(request_of: MakeRequest) -> None:
    turns = StepPolicy()
    begun(turns, request_of(*[4] * 32), num_steps=0)
    assert [turns.take(can_step_subset=True) for _ in range(100)] == [None] * 100


def test_those_left_out_lose_at_most_a_third_of_the_rows_however_many_come(
    request_of: MakeRequest,
) -> None:
    turns, rng = StepPolicy(), random.Random(0)
    running = list(begun(turns, request_of(*[4] * 32), num_steps=40))
    of_all = of_some = longest_wait = wait = 0
    for _ in range(3000):
        if rng.random() < 0.4:
            running += begun(turns, request_of(4), num_steps=0)
        while len(running) > 40:
            turns.leave(running.pop(rng.randrange(32, len(running))))
        taken = turns.take(can_step_subset=True)
        of_all += rows(running) if taken is None else 0
        of_some += rows(taken or [])
        wait = 0 if taken is None else wait + 1
        longest_wait = max(longest_wait, wait)
    assert 0 < of_some <= of_all / 2
    assert longest_wait <= 16


def test_who_has_left_neither_steps_nor_counts(request_of: MakeRequest) -> None:
    turns = StepPolicy()
    old = begun(turns, request_of(*[4] * 32), num_steps=40)
    gone, newcomer = request_of(4, 4).tasks
    for task in (gone, newcomer):
        turns.enter(task)
    turns.leave(gone)
    assert turns.take(can_step_subset=True) == [newcomer]
    for task in old:
        turns.leave(task)
    assert turns.take(can_step_subset=True) is None
