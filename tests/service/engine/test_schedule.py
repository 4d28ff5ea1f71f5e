"""Who joins and who steps: what fits, short work first, and nobody starves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from model.decoding.step_cost import StepCost
from service.engine.admission import AdmissionControl
from service.engine.schedule import Schedule
from service.engine.sentence_task import SentenceTask, expected_work, most_work
from service.engine.sharing import SharedSentences
from service.engine.ticket import Ticket
from service.observability.metrics import Metrics
from tests.service.conftest import MakeTasks
from tests.service.fakes import FakeRunner, sentence


class Scene:
    """A schedule of a runner; batches have room for 72 rows where short work runs, elsewhere for
    144; encodings for 144 tokens."""

    def __init__(
        self,
        max_slots: int,
        max_rows: int = 10_000,
        max_tokens: int = 10_000,
        can_step_subset: bool = True,
    ) -> None:
        self.runner = FakeRunner(max_slots, max_rows)
        self.runner.can_step_subset = can_step_subset
        self.runner.step_cost = StepCost(8.0, 1.0)
        self.schedule = Schedule(self.runner, max_tokens)
        self.seconds = 0.0

    @property
    def running(self) -> list[SentenceTask]:
        return list(self.schedule.running.by_handle.values())

    def admit(self) -> list[SentenceTask]:
        """Let the next newcomers join, after steps if these come first."""
        for _ in range(9):
            if taken := self.schedule.newcomers():
                return self.run(taken)
            self.step()
        return []

    def run(self, tasks: Sequence[SentenceTask]) -> list[SentenceTask]:
        handles = self.runner.admit([task.sentence for task in tasks])
        for task, handle in zip(tasks, handles, strict=True):
            self.schedule.running.enter(task, handle)
            task.stepped_seconds = self.seconds
        return list(tasks)

    def step(self) -> list[SentenceTask]:
        """The tasks of the next step, which takes as many seconds as it has rows."""
        chosen = self.schedule.choose()
        tasks = self.running if chosen is None else chosen
        self.schedule.account(rows(tasks))
        self.seconds += rows(tasks)
        is_counted = self.schedule.can_leave_out
        self.schedule.running.note_step(chosen, self.seconds, is_counted=is_counted)
        return tasks

    def end(self, task: SentenceTask) -> None:
        assert task.handle is not None
        self.runner.release(task.handle)
        self.schedule.running.leave(task.handle)


def rows(tasks: Sequence[SentenceTask]) -> int:
    return sum(task.num_rows for task in tasks)


def test_never_more_joins_than_fits_and_nothing_is_lost(tasks_of: MakeTasks) -> None:
    rng, scene = random.Random(1), Scene(max_slots=9, max_rows=30)
    waiting = [t for _ in range(40) for t in tasks_of(*rng.choices(range(1, 9), k=5))]
    scene.schedule.waiting.add(waiting)
    joined: set[SentenceTask] = set()
    while scene.schedule.waiting:
        joined.update(scene.admit())  # the runner asserts that they fit
        for task in rng.sample(scene.running, k=rng.randint(1, len(scene.running))):
            scene.end(task)
    assert joined == set(waiting)


def test_what_is_removed_does_not_join(tasks_of: MakeTasks) -> None:
    scene, first, second = Scene(9), tasks_of(1, 1, 1), tasks_of(1)
    scene.schedule.waiting.add([*first, *second])
    scene.schedule.waiting.remove([first[1], *second])
    assert scene.admit() == [first[0], first[2]]
    assert not scene.schedule.waiting


def test_requests_alternate_and_each_keeps_its_order(tasks_of: MakeTasks) -> None:
    scene, a, b = Scene(9), tasks_of(1, 1, 1, 1), tasks_of(1, 1)
    scene.schedule.waiting.add(a)
    scene.schedule.waiting.add(b)
    assert scene.admit() == [a[0], b[0], a[1], b[1], a[2], a[3]]


def test_source_tokens_of_an_encoding_are_bounded_but_one_sentence_always_joins(
    tasks_of: MakeTasks,
) -> None:
    for max_tokens, expected in ((7, [2, 2, 1]), (1, [1] * 5)):
        scene = Scene(99, max_tokens=max_tokens)
        scene.schedule.waiting.add(tasks_of(1, 1, 1, 1, 1))
        assert [len(scene.admit()) for _ in expected] == expected


def test_a_wide_beam_gets_its_rows_though_short_work_never_ends(tasks_of: MakeTasks) -> None:
    scene = Scene(max_slots=20, max_rows=20)
    scene.schedule.waiting.add(tasks_of(1, arrived=0.0))
    scene.admit()
    (wide,) = tasks_of(16, arrived=1.0)
    scene.schedule.waiting.add([wide])
    for moment in range(2, 100):
        scene.schedule.waiting.add(tasks_of(1, arrived=moment))
        if wide in scene.admit():
            return
        if len(scene.running) > 8:
            scene.end(scene.running[0])
    pytest.fail("the wide beam starves")


def test_one_admission_in_four_begins_with_the_oldest(tasks_of: MakeTasks) -> None:
    """Though more urgent work never ends."""
    scene, old = Scene(max_slots=9), tasks_of(*[4] * 200, arrived=0.0)
    scene.schedule.waiting.add(old)
    joined: list[bool] = []
    for moment in range(1, 65):
        scene.schedule.waiting.add(tasks_of(*[1] * 9, arrived=moment))
        taken = scene.admit()
        joined.append(taken[0] in old)
        for task in taken:
            scene.end(task)
    assert joined == ([True] + [False] * 3) * 16


def test_a_batch_is_bounded_and_full_while_enough_run(tasks_of: MakeTasks) -> None:
    """It is smaller while short work is there."""
    scene = Scene(max_slots=600)
    scene.run(tasks_of(*[4] * 500))
    assert all(rows(scene.step()) == 144 for _ in range(20))
    scene.run([task for _ in range(50) for task in tasks_of(4)])
    assert all(rows(scene.step()) == 72 for _ in range(20))


def test_a_newcomer_joins_and_steps_alone_among_many_old_ones(tasks_of: MakeTasks) -> None:
    scene = Scene(max_slots=64)
    scene.run(tasks_of(*[4] * 32))
    for _ in range(40):
        scene.step()
    scene.schedule.waiting.add(newcomer := tasks_of(4))
    assert scene.schedule.newcomers() == newcomer
    scene.run(newcomer)
    assert [scene.step() for _ in range(10)] == [newcomer] * 10


def test_short_work_alone_takes_at_most_its_share_of_the_time(tasks_of: MakeTasks) -> None:
    scene = Scene(max_slots=64)
    scene.run(tasks_of(*[4] * 32))
    alone = 0
    for _ in range(3000):
        (newcomer,) = scene.run(tasks_of(4))
        alone += 4 if scene.step() == [newcomer] else 0
        scene.end(newcomer)
    assert 0.2 < alone / scene.seconds < 0.3


def test_the_last_slots_are_for_short_work(tasks_of: MakeTasks) -> None:
    scene = Scene(max_slots=64)
    scene.run(tasks_of(*[1] * 56))
    scene.step()
    scene.schedule.waiting.add(tasks_of(*[1] * 56))
    assert [scene.admit() for _ in range(20)] == [[]] * 20
    scene.schedule.waiting.add(short := tasks_of(1))
    assert scene.admit() == short


def test_no_task_waits_longer_for_a_step_than_the_bound(tasks_of: MakeTasks) -> None:
    """A task of R rows that run waits at most 1 + 4 R / 72 batches, though short work that could
    fill every batch never ends."""
    rng, scene = random.Random(0), Scene(max_slots=1000)
    long = scene.run(tasks_of(*[4] * 300))
    short: list[SentenceTask] = []
    waits, most, longest = dict.fromkeys(long, 0), 0.0, 0
    for _ in range(300):
        short += scene.run(tasks_of(*[4] * rng.randint(0, 30)))
        while len(short) > 100:
            scene.end(short.pop(0))
        most = max(most, 1 + 4 * rows(scene.running) / 72)
        taken = set(scene.step())
        is_batch = rows(list(taken)) >= 72
        waits = {task: 0 if task in taken else waits[task] + is_batch for task in long}
        longest = max(longest, *waits.values())
    assert 10 < longest <= most


def test_all_step_where_leaving_out_is_impossible_or_saves_little(tasks_of: MakeTasks) -> None:
    for num_old, can_step_subset in ((32, False), (2, True)):
        scene = Scene(max_slots=64, can_step_subset=can_step_subset)
        scene.run(tasks_of(*[4] * num_old))
        scene.step()
        scene.run(tasks_of(4))
        assert all(len(scene.step()) == num_old + 1 for _ in range(20))


def test_a_task_with_more_work_than_expected_goes_behind_those_with_little(
    tasks_of: MakeTasks,
) -> None:
    scene = Scene(max_slots=99)
    (endless,) = scene.run(tasks_of(16))
    for _ in range(200):
        scene.step()
    scene.run(tasks_of(*[4] * 30, arrived=1.0))
    late = scene.run(tasks_of(4))
    assert [t for t in scene.step() if t in (endless, *late)] == late


def test_a_sentence_of_a_document_becomes_as_urgent_as_who_joins_it(tasks_of: MakeTasks) -> None:
    scene, one = Scene(max_slots=9), sentence("a", beam_size=4)
    running = scene.schedule.running
    sharing = SharedSentences(10**6, Metrics().of_model("fake"), running.renew_level)
    document, (urgent,) = tasks_of(*[4] * 50), tasks_of(4)
    (shared,) = scene.run(sharing.join(document[0].request, [one]))
    assert shared.level == running.lowest_level > urgent.level
    assert not sharing.join(urgent.request, [one])
    assert shared.level == running.lowest_level == urgent.level


def test_as_many_may_wait_as_the_bounds_say_and_not_one_more(tasks_of: MakeTasks) -> None:
    waiting = tasks_of(1, 1, 1)
    for task in waiting:
        task.most_work = 7
    admission = AdmissionControl(4, 26)
    assert not admission.why_full(100, 100)  # an empty queue accepts any one request
    admission.enter(waiting)
    assert not admission.why_full(1, 5)
    assert admission.why_full(3, 0).startswith("3 sentences are waiting, and of 3 more not all fit")
    assert admission.why_full(1, 14).startswith("21 tokens are waiting, and of 14 more not all fit")
    for _ in range(2):
        admission.leave(waiting[:1])
    assert not admission.why_full(2, 12)
    assert admission.num_sentences == 2


def test_nobody_who_fills_the_queue_shuts_out_others(tasks_of: MakeTasks) -> None:
    """Whatever others have sent, a client's first request is accepted if it is within an equal
    share; and what waits stays within a few times the bound."""
    chance, bound = random.Random(7), 64
    for _ in range(5):
        admission, clients = AdmissionControl(bound, 10**9), list("abcdefgh")
        for _ in range(300):
            client, size = chance.choice(clients[:4]), chance.choice((1, 3, 10, 40, 200))
            tasks = tasks_of(*[1] * size)
            tasks[0].request.ticket = Ticket(client)
            if not admission.why_full(size, 0, client):
                admission.enter(tasks)
        for number, newcomer in enumerate(clients[4:], 5):
            assert not admission.why_full(bound // number, 0, newcomer)
            (*_, task) = tasks = tasks_of(*[1] * (bound // number))
            task.request.ticket = Ticket(newcomer)
            admission.enter(tasks)
        assert admission.num_sentences <= 200 + 10 * bound


def test_what_waits_counts_as_much_as_it_may_need() -> None:
    source = sentence("ab", beam_size=3)
    assert most_work(source, 256) == 4 + 3 * (2 * 4 + 16)
    longer = replace(source, options=replace(source.options, max_length=10_000))
    assert most_work(longer, 256) == 4 + 3 * 256


def test_a_long_required_beginning_counts_as_work() -> None:
    short = sentence("a", beam_size=2)
    assert expected_work(short) == 3 + 2 * 3
    assert expected_work(replace(short, prefix=(9,) * 10)) == 3 + 2 * 11
