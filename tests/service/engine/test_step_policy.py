"""Who steps: newcomers by themselves between steps of all, and nobody else is the poorer for it."""

from __future__ import annotations

import random

from model.decoding.step_cost import StepCost
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


def num_rows_of(tasks: list[SentenceTask] | None, running: list[SentenceTask]) -> int:
    """Rows of a step, which are its nominal cost without the fixed one."""
    return rows(running if tasks is None else tasks)


def test_a_batch_is_bounded_and_full_while_enough_run(request_of: MakeRequest) -> None:
    policy = StepPolicy()
    running = begun(policy, request_of(*[4] * 500), num_steps=0)
    for _ in range(200):
        num_rows = num_rows_of(policy.take(can_step_subset=True), running)
        assert policy.most_cost <= num_rows < policy.most_cost + 4


def test_short_work_is_in_the_next_batch_before_hundreds_that_came_earlier(
    request_of: MakeRequest,
) -> None:
    policy = StepPolicy()
    begun(policy, request_of(*[4] * 500), num_steps=3)
    short = request_of(16, 16, 16).tasks
    for task in short:
        policy.enter(task)
    for _ in range(3):
        taken = policy.take(can_step_subset=True)
        assert taken is not None
        assert set(short) <= set(taken)


def test_no_task_waits_longer_than_the_stated_bound_though_short_work_never_ends(
    request_of: MakeRequest,
) -> None:
    """A stream of short tasks that could fill every batch."""
    policy, rng = StepPolicy(), random.Random(0)
    long = begun(policy, request_of(*[4] * 300), num_steps=0)
    short: list[SentenceTask] = []
    waits = dict.fromkeys(long, 0)
    bound = most = 0
    for _ in range(2000):
        short += begun(policy, request_of(*[4] * rng.randint(0, 30)), num_steps=0)
        while len(short) > 100:
            policy.leave(short.pop(0))
        bound = max(bound, policy.most_steps_waited)
        taken = policy.take_batch()
        assert taken is not None
        waits = {task: 0 if task in taken else wait + 1 for task, wait in waits.items()}
        most = max(most, *waits.values())
    assert 0 < most <= bound < 60


def test_steps_of_short_work_alone_take_at_most_a_third_of_the_time(
    request_of: MakeRequest,
) -> None:
    """Also where they waste little."""
    policy = StepPolicy(StepCost(1.0, 1.0, 0.0, 1.0, 1.0))
    running = begun(policy, request_of(*[4] * 300), num_steps=0)
    alone = together = 0.0
    for _ in range(3000):
        newcomer = request_of(1).tasks[0]
        policy.enter(newcomer)
        taken = policy.take(can_step_subset=True)
        cost = policy.cost.fixed + num_rows_of(taken, [*running, newcomer])
        if taken == [newcomer]:
            alone += cost
        else:
            together += cost
        policy.leave(newcomer)
    assert 0.1 < alone / (alone + together) < 0.34


def test_steps_of_short_work_alone_waste_little_of_the_time(
    request_of: MakeRequest,
) -> None:
    """A batch would take the same rows along: what such a step wastes is its fixed cost."""
    policy = StepPolicy(StepCost(100.0, 20.0, 0.0, 300.0, 25.0))
    running = begun(policy, request_of(*[4] * 300), num_steps=0)
    wasted = cost = 0.0
    for _ in range(3000):
        newcomer = request_of(1).tasks[0]
        policy.enter(newcomer)
        taken = policy.take(can_step_subset=True)
        cost += policy.cost.fixed + 20.0 * num_rows_of(taken, [*running, newcomer])
        wasted += policy.cost.fixed if taken == [newcomer] else 0.0
        policy.leave(newcomer)
    assert 0.05 < wasted / cost < 0.07


def test_a_task_with_more_work_than_expected_goes_behind_those_with_little(
    request_of: MakeRequest,
) -> None:
    policy = StepPolicy()
    begun(policy, request_of(*[4] * 500), num_steps=5)
    loop = request_of(16).tasks[0]
    policy.enter(loop)
    assert loop.level == 0
    for _ in range(200):
        policy.take(can_step_subset=True)
    assert loop.level == 6
    late = request_of(4).tasks[0]
    policy.enter(late)
    assert policy.take_short() == [late]


def test_a_request_of_one_sentence_goes_before_a_thousand_as_long_as_it(
    request_of: MakeRequest,
) -> None:
    policy = StepPolicy()
    begun(policy, request_of(*[4] * 1000), num_steps=0)
    one = request_of(4).tasks[0]
    policy.enter(one)
    assert one in (policy.take_batch() or [])


def test_a_task_that_waits_keeps_its_place_when_others_leave(request_of: MakeRequest) -> None:
    policy = StepPolicy()
    running = begun(policy, request_of(*[4] * 200), num_steps=0)
    stepped: set[SentenceTask] = set()
    while running:
        taken = policy.take_batch() or list(running)
        stepped.update(taken)
        for task in taken[:3]:
            policy.leave(task)
            running.remove(task)
    assert len(stepped) == 200
    assert policy.num_rows == 0


def test_long_work_does_not_step_alone_because_one_sentence_is_longer_still(
    request_of: MakeRequest,
) -> None:
    policy = StepPolicy()
    begun_with_work(policy, request_of(*[4] * 30), 600)
    begun_with_work(policy, request_of(*[4] * 3), 300)
    begun_with_work(policy, request_of(4), 1200)
    for _ in range(5):
        policy.take_batch()
    assert policy.take_short() == []
    short = begun_with_work(policy, request_of(4), 60)
    assert policy.take_short() == short


def test_steps_and_encodings_are_larger_where_all_running_work_is_long(
    request_of: MakeRequest,
) -> None:
    policy = StepPolicy(StepCost(100.0, 20.0, 0.0, 300.0, 25.0))
    begun_with_work(policy, request_of(*[4] * 100), 5000)
    assert rows(policy.take_batch() or []) == 96
    assert policy.most_source_tokens(7) == 108
    assert policy.most_source_tokens(0) == 58
    begun_with_work(policy, request_of(4), 60)
    assert rows(policy.take_batch() or []) == 64
    assert policy.most_source_tokens(7) == 58


def begun_with_work(policy: StepPolicy, request: EngineRequest, work: int) -> list[SentenceTask]:
    request.expected_work = work
    return begun(policy, request, num_steps=0)
