"""Chooses the waiting tasks that join the batch: what the scheduler has and a step would take.

Pure Python: no clock, no thread, no tensors.
"""

from __future__ import annotations

import math

from service.engine.interfaces import Runner
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import SentenceTask
from service.engine.step_policy import StepPolicy

_SHORT_SLOTS_SHARE = 8
"""One slot in so many stays free for short work."""


class Joining:
    """The runner's free slots and rows, and the room that the step policy's batches have left."""

    def __init__(self, runner: Runner, scheduler: Scheduler, policy: StepPolicy) -> None:
        self._runner, self._scheduler, self._policy = runner, scheduler, policy

    def next_in_order(self, num_running: int) -> list[SentenceTask]:
        """Take all tasks that fit, for a runner whose steps are of all tasks."""
        runner = self._runner
        return self._scheduler.take(runner.num_free_slots, runner.num_free_rows, num_running)

    def next_for_batch(self, num_running: int) -> list[SentenceTask]:
        """Take as many tasks as are encoded together, if the next batch has room for one: a small
        encoding costs nearly as much, and tasks that a step leaves out cost nothing."""
        runner = self._runner
        num_slots, num_rows = runner.num_free_slots, runner.num_free_rows
        if not self._scheduler:
            return []
        level, num_wanted = self._scheduler.lowest_level, num_slots
        if num_running:
            num_slots -= runner.max_slots // _SHORT_SLOTS_SHARE
            if not self._num_wanted(level, num_running):
                num_wanted = 0
        max_tokens = self._policy.most_source_tokens(level)
        return self._scheduler.take(num_slots, num_rows, num_running, max_tokens, num_wanted)

    def short(self, num_running: int) -> list[SentenceTask]:
        """Take short work that may be encoded at once, for credit of the policy."""
        runner, policy = self._runner, self._policy
        level = policy.short_level
        if not self._scheduler or self._scheduler.lowest_level > level:
            return []
        taken = self._scheduler.take_short(
            min(runner.num_free_slots, self._num_wanted(level, num_running)),
            runner.num_free_rows,
            level,
            policy.most_source_tokens(level),
        )
        if taken:
            policy.spend_on_encoding(sum(task.num_tokens for task in taken))
        return taken

    def _num_wanted(self, level: int, num_running: int) -> int:
        """How many more tasks of this level the next batch has room for."""
        if not num_running:
            return self._runner.num_free_slots
        rows_left = self._policy.room(level)
        return max(0, math.ceil(rows_left * num_running / self._policy.num_rows))
