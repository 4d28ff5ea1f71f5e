"""Who joins the batch: no more than a step would take, and short work finds a slot."""

from __future__ import annotations

from model.decoding.step_cost import StepCost
from service.engine.joining import Joining
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import SentenceTask
from service.engine.step_policy import StepPolicy
from tests.service.conftest import MakeRequest
from tests.service.fakes import FakeRunner


class Scene:
    """A runner of 64 slots, and a batch with room for 216 rows."""

    def __init__(self) -> None:
        self.runner = FakeRunner(max_slots=64, max_rows=1000)
        self.scheduler, self.policy = Scheduler(10_000), StepPolicy()
        self.joining = Joining(self.runner, self.scheduler, self.policy)
        self.num_running = 0

    def run(self, tasks: list[SentenceTask]) -> None:
        for task, handle in zip(tasks, self.runner.admit([t.sentence for t in tasks]), strict=True):
            task.handle = handle
            self.policy.enter(task)
        self.num_running += len(tasks)


def test_an_idle_runner_takes_what_fits(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.scheduler.add(request_of(*[4] * 100).tasks)
    assert len(scene.joining.next_for_batch(0)) == 64


def test_a_full_batch_takes_nobody_of_its_level_but_the_aged(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.run(request_of(*[4] * 54).tasks)
    scene.scheduler.add(request_of(*[4] * 54).tasks)
    taken = [len(scene.joining.next_for_batch(54)) for _ in range(64)]
    assert taken == ([0] * 31 + [2]) * 2


def test_a_batch_with_room_for_one_takes_what_is_encoded_together(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.run(request_of(*[4] * 30).tasks)
    scene.scheduler.add(request_of(*[4] * 54).tasks)
    assert len(scene.joining.next_for_batch(30)) == 26  # all slots but those for short work


def test_few_source_tokens_are_encoded_between_two_steps(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.policy.cost = StepCost(24.0, 1.0, 0.0, 24.0, 20.0)
    scene.run(request_of(*[4] * 30).tasks)
    scene.scheduler.add(request_of(*[4] * 54).tasks)
    taken = scene.joining.next_for_batch(30)
    num_tokens = sum(task.num_tokens for task in taken)
    assert 0 < num_tokens <= scene.policy.most_source_tokens(0) == 10


def test_the_last_slots_are_for_short_work(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.policy.cost = StepCost(200.0, 1.0, 0.0, 24.0, 1.0)
    scene.run(request_of(*[4] * 56).tasks)
    for _ in range(5):
        scene.policy.take_batch()
    scene.scheduler.add(request_of(*[4] * 56).tasks)
    assert [scene.joining.next_for_batch(56) for _ in range(20)] == [[]] * 20
    short = request_of(1)
    scene.scheduler.add(short.tasks)
    assert scene.joining.short(56) == short.tasks


def test_a_runner_that_steps_all_takes_all_that_fit(request_of: MakeRequest) -> None:
    scene = Scene()
    scene.scheduler.add(request_of(*[4] * 60).tasks)
    assert len(scene.joining.next_in_order(0)) == 60
