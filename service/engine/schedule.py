"""Chooses the tasks that join the batch and those that step. Pure Python: no clock, no tensors.

Multi-level feedback (Corbato et al. 1962, "An Experimental Time-Sharing System"; analysed as least
attained service in Kleinrock 1976, "Queueing Systems", volume 2, chapter 4): a task starts at the
level of the work that its request is expected to need, because the length of a source predicts the
length of its translation, and moves on when it has had more. docs/scheduling.md describes it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from model.decoding.step_cost import NOMINAL
from service.engine.interfaces import Runner
from service.engine.sentence_task import EngineRequest, SentenceTask

_LEAST_ROWS = 80
"""A batch has room for so many rows."""
_FIXED_SHARE = 0.1
"""And for so many that the fixed cost of a step is at most this share of it."""
_AGED_PART = 8
"""One row in so many of a batch is for the tasks that have waited longest for a step, one admission
in so many begins with the request that has waited longest, and newcomers wait at most so many steps
for company."""
_SHORT_PART = 8
"""Short work has at most one row in so many of a batch, and for itself one part in so many of the
time and one slot in so many."""


class WaitingTasks:
    """The tasks that wait for a slot: by level, in turn by request, and in order of rank."""

    def __init__(self) -> None:
        self._levels: dict[int, dict[EngineRequest, deque[SentenceTask]]] = {}
        self._num_tasks = 0

    def __len__(self) -> int:
        return self._num_tasks

    def add(self, tasks: Iterable[SentenceTask]) -> None:
        for task in sorted(tasks, key=attrgetter("rank")):
            self._num_tasks += 1
            queues = self._levels.setdefault(task.level, {})
            queues.setdefault(task.request, deque()).append(task)

    def remove(self, tasks: Collection[SentenceTask]) -> None:
        """Remove those of the tasks that wait."""
        gone = set(tasks)
        for level, queues in list(self._levels.items()):
            for request in queues.keys() & {task.request for task in gone}:
                kept = deque(task for task in queues[request] if task not in gone)
                self._num_tasks -= len(queues[request]) - len(kept)
                queues[request] = kept
                if not queues[request]:
                    del queues[request]
            if not queues:
                del self._levels[level]

    @property
    def most_urgent(self) -> SentenceTask:
        """The next task of the lowest level."""
        return self._head(min(self._levels))

    @property
    def oldest(self) -> SentenceTask:
        """The next task of the level whose next request arrived first."""
        return min(map(self._head, self._levels), key=lambda task: task.request.arrived_seconds)

    def _head(self, level: int) -> SentenceTask:
        return next(iter(self._levels[level].values()))[0]

    def take(self, task: SentenceTask) -> None:
        """Remove the next task of a level; its request goes to the end of the level."""
        queues = self._levels[task.level]
        queue = queues.pop(task.request)
        queue.popleft()
        self._num_tasks -= 1
        if queue:
            queues[task.request] = queue
        elif not queues:
            del self._levels[task.level]


class Schedule:
    """The waiting and the running tasks of one runner.

    Where a step may leave tasks out, it takes a batch of bounded size, the lowest levels first. If
    few rows are of the lowest levels, these are short work: they join and step alone, as long as
    that takes at most a share of the time. Tasks that are left out keep their rows and cache.
    Elsewhere each step takes all.
    """

    def __init__(self, runner: Runner, max_prefill_tokens: int, is_preemptive: bool = True) -> None:
        """`max_prefill_tokens` bounds the source tokens encoded between two steps, because running
        sentences wait for the encoder. `is_preemptive`: steps may leave tasks out, if the runner
        can step a subset."""
        self.waiting = WaitingTasks()
        self.running: dict[int, SentenceTask] = {}
        """By handle; the owner adds and removes."""
        self._runner, self._is_preemptive = runner, is_preemptive
        self._max_prefill_tokens = max_prefill_tokens
        cost, times_fixed = runner.step_cost or NOMINAL, 1 / _FIXED_SHARE - 1
        self.batch_rows = max(_LEAST_ROWS, int(times_fixed * cost.fixed / cost.per_row))
        self._batch_tokens = int(self.batch_rows * cost.per_row / cost.per_source_token)
        self._num_admissions = 0
        self._short_seconds = 0.0
        self._is_for_short = False
        self._num_steps = 0
        """Since the last encoding."""

    @property
    def can_leave_out(self) -> bool:
        """Whether a step may leave tasks out."""
        return self._is_preemptive and self._runner.can_step_subset

    def newcomers(self) -> list[SentenceTask]:
        """Remove and return the waiting tasks to encode now; none if a step comes first.

        After each encoding comes a step, except that short work may be encoded before it. A task
        that is next but does not fit is never skipped, so wide beams cannot starve.
        """
        if not self.waiting:
            return []
        urgent, is_aged = self.waiting.most_urgent, self._num_admissions % _AGED_PART == 0
        first = self.waiting.oldest if is_aged else urgent
        self._is_for_short = self._short_seconds > 0 and self._is_short(urgent)
        taken: list[SentenceTask] = []
        if first.num_rows > self._runner.num_free_rows:
            pass
        elif self._is_for_short:
            taken = self._take(urgent, self._runner.num_free_slots, urgent.level)
        elif not self.running or (self._num_steps and self._has_room(urgent.level)):
            taken = self._take(first, self._runner.num_free_slots - self._num_short_slots)
            self._num_admissions += bool(taken)
        if not taken and not self.running:
            raise RuntimeError("nothing runs and yet the runner has no room")
        if taken:
            self._num_steps = 0
        return taken

    def choose(self) -> list[SentenceTask] | None:
        """Return the running tasks to step; None: all."""
        self._is_for_short = False
        self._num_steps += 1
        if not self.can_leave_out:
            return None
        by_level = sorted(self.running.values(), key=attrgetter("level"))
        if self._short_seconds > 0 and (short := self._short_ones(by_level)):
            self._is_for_short = True
            return short
        by_wait = sorted(by_level, key=attrgetter("stepped_seconds"))
        aged = _filled([], by_wait, self.batch_rows // _AGED_PART)
        return _filled(aged, by_level, self.batch_rows)

    def account(self, seconds: float) -> None:
        """Count the time of the encoding or step that was chosen. What is not of short work earns
        time for it, until that is enough for a short sentence."""
        if self._is_for_short:
            self._short_seconds -= seconds
        elif self._short_seconds < _SHORT_PART * seconds:
            self._short_seconds += seconds / _SHORT_PART

    def _take(
        self, first: SentenceTask, num_slots: int, max_level: int | None = None
    ) -> list[SentenceTask]:
        """Remove and return tasks that fit, `first` first, then in order of urgency up to this
        level; with a bound on their source tokens unless there is only one."""
        taken: list[SentenceTask] = []
        num_rows, num_tokens = self._runner.num_free_rows, self._max_prefill_tokens
        if self.can_leave_out:
            num_tokens = min(num_tokens, self._batch_tokens)
        task: SentenceTask | None = first
        while task and len(taken) < num_slots and task.num_rows <= num_rows:
            is_too_long = taken and task.num_tokens > num_tokens
            if is_too_long or (max_level is not None and task.level > max_level):
                break
            self.waiting.take(task)
            taken.append(task)
            num_rows -= task.num_rows
            num_tokens -= task.num_tokens
            task = self.waiting.most_urgent if self.waiting else None
        return taken

    def _has_room(self, level: int) -> bool:
        """Whether the next batch has room for tasks of this level, and half as many wait as run, so
        that an encoding is worth it, or have waited long enough for that."""
        if self.can_leave_out and self._num_rows_to(level) >= self.batch_rows:
            return False
        num_waiting = min(len(self.waiting), self._runner.num_free_slots)
        return 2 * num_waiting >= len(self.running) or self._num_steps >= _AGED_PART

    @property
    def _num_short_slots(self) -> int:
        """Slots that only short work may take."""
        return self._runner.max_slots // _SHORT_PART if self._is_preemptive else 0

    def _is_short(self, task: SentenceTask) -> bool:
        """Whether a waiting task and the running ones that are as urgent have few rows."""
        return self._num_rows_to(task.level) + task.num_rows <= self._most_short_rows

    @property
    def _most_short_rows(self) -> int:
        return min(_num_rows(self.running.values()), self.batch_rows) // _SHORT_PART

    def _num_rows_to(self, level: int) -> int:
        """The rows of the running tasks up to this level."""
        return _num_rows(task for task in self.running.values() if task.level <= level)

    def _short_ones(self, by_level: Sequence[SentenceTask]) -> list[SentenceTask]:
        """The running tasks of the lowest levels, as long as they have few rows."""
        short: list[SentenceTask] = []
        for _, group in itertools.groupby(by_level, key=attrgetter("level")):
            more = [*short, *group]
            if _num_rows(more) > self._most_short_rows:
                break
            short = more
        return short


def _num_rows(tasks: Iterable[SentenceTask]) -> int:
    return sum(task.num_rows for task in tasks)


def _filled(
    taken: list[SentenceTask], tasks: Iterable[SentenceTask], most_rows: int
) -> list[SentenceTask]:
    """`taken` and further tasks until there are `most_rows`; the last may exceed them."""
    chosen, num_rows = dict.fromkeys(taken), _num_rows(taken)
    for task in tasks:
        if num_rows >= most_rows:
            break
        if task not in chosen:
            chosen[task] = None
            num_rows += task.num_rows
    return list(chosen)
