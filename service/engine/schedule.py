"""Chooses the tasks that join the batch and those that step. Pure Python: no clock, no tensors.

Multi-level feedback (Corbato et al. 1962, "An Experimental Time-Sharing System"; analysed as least
attained service in Kleinrock 1976, "Queueing Systems", volume 2, chapter 4): a task starts at the
level of the work that its request is expected to need, because the length of a source predicts the
length of its translation, and moves on when it has had more. docs/scheduling.md describes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from operator import attrgetter

from model.decoding.step_cost import NOMINAL
from service.engine.engine_runner import EngineRunner
from service.engine.running import RunningTasks
from service.engine.sentence_task import EngineRequest, SentenceTask

_LEAST_ROWS = 64
"""The smallest bound on the rows of a batch, which is twice as large while no short work runs."""
_TOKENS_OF_A_ROW = 2
"""Source tokens of an encoding for each row of a batch. Fewer make many small encodings, which cost
throughput; more make short work wait."""
_FIXED_SHARE = 0.1
"""A batch has room for enough rows that the fixed cost of a step is at most this share of it."""
_PART_FOR_LONGEST_WAIT = 4
"""One row in four of a batch is for the tasks that have waited longest for a step."""
_ADMISSIONS_TO_OLDEST = 4
"""One admission in four begins with the request that has waited longest."""
_PART_ALONE = 4
"""Short work joins or steps alone if it has at most one row in four of a batch."""
_PART_KEPT_FOR_SHORT = 8
"""One slot in eight is for short work only."""
_STEPS_FOR_COMPANY = 8
"""Newcomers wait at most so many steps for others to be encoded with."""
_PART_WASTED_ALONE = 8
"""Short work that is alone wastes at least one eighth of its time."""
_WASTED_SHARE = 0.04
"""Steps and encodings of short work alone waste at most this share of the time."""


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
        return next(iter(self._levels[min(self._levels)].values()))[0]

    @property
    def oldest(self) -> SentenceTask:
        """The next task of the level whose next request arrived first."""
        heads = [next(iter(queues.values()))[0] for queues in self._levels.values()]
        return min(heads, key=lambda task: task.request.arrived_seconds)

    def remove_next(self, task: SentenceTask) -> None:
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

    Where a step may leave tasks out, it takes a batch of bounded size, the lowest levels first.
    Short work is that of the lowest level. If little of it runs, it joins and steps alone, as long
    as that wastes at most a share of the time: it takes longer than it would as a part of batches.
    Tasks that are left out keep their rows and cache. Elsewhere each step takes all.
    """

    def __init__(
        self, runner: EngineRunner, max_prefill_tokens: int, is_preemptive: bool = True
    ) -> None:
        """`max_prefill_tokens` bounds the source tokens encoded between two steps, because running
        sentences wait for the encoder. `is_preemptive`: steps may leave tasks out, if the runner
        can step a subset."""
        self.waiting = WaitingTasks()
        self.running = RunningTasks()
        """The owner adds and removes."""
        self._runner, self._is_preemptive = runner, is_preemptive
        self.can_leave_out = is_preemptive and runner.can_step_subset
        """Whether a step may leave tasks out."""
        self._max_prefill_tokens = max_prefill_tokens
        cost, times_fixed = runner.step_cost or NOMINAL, 1 / _FIXED_SHARE - 1
        self.batch_rows = max(_LEAST_ROWS, int(times_fixed * cost.fixed / cost.per_row))
        """The rows of a batch where short work runs."""
        self._num_admissions = 0
        self._is_for_short = False
        self.num_units = 1
        """Rows or source tokens of the last choice; one of either costs about the same."""
        self._unit_seconds = self._spare_seconds = 0.0
        self._num_steps = 0
        """Since the last encoding."""

    def newcomers(self) -> list[SentenceTask]:
        """Remove and return the waiting tasks to encode now; none if a step comes first.

        After each encoding comes a step, except that short work may be encoded before it. A task
        that is next but does not fit is never skipped, so wide beams cannot starve.
        """
        if not self.waiting:
            return []
        urgent = self.waiting.most_urgent
        is_aged = self._num_admissions % _ADMISSIONS_TO_OLDEST == 0
        first = self.waiting.oldest if is_aged else urgent
        self._is_for_short = urgent.level <= self._short_level and self._may_be_alone(
            urgent.num_rows + self.running.num_rows_to(urgent.level)
        )
        taken: list[SentenceTask] = []
        if first.num_rows > self._runner.num_free_rows:
            pass
        elif self._is_for_short:
            taken = self._take_fitting(urgent, self._runner.num_free_slots, urgent.level)
        elif not self.running or (self._num_steps and self._has_room(urgent.level)):
            taken = self._take_fitting(first, self._num_slots_for(first))
            self._num_admissions += bool(taken)
        if not taken and not self.running:
            raise RuntimeError("nothing runs and yet the runner has no room")
        if taken:
            self._num_steps = 0
            self.num_units = sum(task.num_tokens for task in taken)
        return taken

    def choose(self) -> list[SentenceTask] | None:
        """Return the running tasks to step; None: all."""
        self._num_steps += 1
        self._is_for_short, self.num_units = False, self._num_running_rows
        if not self.can_leave_out:
            return None
        running, level = self.running, self.running.lowest_level
        is_short_there, is_mixed = level <= self._short_level, level < running.highest_level
        num_short = running.num_rows_to(level) if is_short_there and is_mixed else 0
        if num_short and self._may_be_alone(num_short):
            self._is_for_short, self.num_units = True, num_short
            return running.of_level(level)
        most_rows = self._most_rows(is_short_there)
        if self.num_units <= most_rows:
            return None
        by_level = running.by_level()
        by_wait = running.by_wait(by_level)
        chosen = _filled(
            _filled([], by_wait, most_rows // _PART_FOR_LONGEST_WAIT), by_level, most_rows
        )
        self.num_units = _rows_of(chosen)
        return chosen if len(chosen) < len(running) else None

    def account(self, seconds: float) -> None:
        """Count the time of the encoding or step that was chosen. Batches earn time to waste, up to
        twice the time of the last one."""
        if self._is_for_short:
            wasted = seconds - self.num_units * self._unit_seconds
            self._spare_seconds -= max(wasted, seconds / _PART_WASTED_ALONE)
            return
        self._unit_seconds = seconds / self.num_units
        if self._spare_seconds < 2 * seconds:
            self._spare_seconds += _WASTED_SHARE * seconds

    def _take_fitting(
        self, first: SentenceTask, num_slots: int, max_level: int | None = None
    ) -> list[SentenceTask]:
        """Remove and return tasks that fit, `first` first, then in order of urgency up to this
        level; with a bound on their source tokens unless there is only one."""
        taken: list[SentenceTask] = []
        num_rows, num_tokens = self._runner.num_free_rows, self._max_prefill_tokens
        if self.can_leave_out:
            level = min(first.level, self.running.lowest_level)
            most_rows = self._most_rows(level <= self._short_level)
            num_tokens = min(num_tokens, _TOKENS_OF_A_ROW * most_rows)
        task: SentenceTask | None = first
        while task and len(taken) < num_slots and task.num_rows <= num_rows:
            is_too_long = taken and task.num_tokens > num_tokens
            if is_too_long or (max_level is not None and task.level > max_level):
                break
            self.waiting.remove_next(task)
            taken.append(task)
            num_rows -= task.num_rows
            num_tokens -= task.num_tokens
            task = self.waiting.most_urgent if self.waiting else None
        return taken

    def _has_room(self, level: int) -> bool:
        """Whether the next batch has room for tasks of this level, and encoding them is worth it:
        half as many wait as run, or they have waited long enough."""
        if self.can_leave_out:
            most_rows = self._most_rows(level <= self._short_level)
            if self.running.num_rows_to(level) >= most_rows:
                return False
        num_waiting = min(len(self.waiting), self._runner.num_free_slots)
        return 2 * num_waiting >= len(self.running) or self._num_steps >= _STEPS_FOR_COMPANY

    def _num_slots_for(self, task: SentenceTask) -> int:
        """The free slots, without those that only short work may take."""
        is_free_for_all = not self._is_preemptive or task.level <= self._short_level
        num_kept = 0 if is_free_for_all else self._runner.max_slots // _PART_KEPT_FOR_SHORT
        return self._runner.num_free_slots - num_kept

    @property
    def _num_running_rows(self) -> int:
        return self._runner.max_rows - self._runner.num_free_rows

    def _most_rows(self, is_short_there: bool) -> int:
        """The rows of a batch, as short work is there or not."""
        return self.batch_rows if is_short_there else 2 * self.batch_rows

    @property
    def _short_level(self) -> int:
        """Work is short up to this level: two below the highest that runs, and level 0."""
        return max(0, self.running.highest_level - 2)

    def _may_be_alone(self, num_short: int) -> bool:
        """Whether this many rows of short work may join or step alone."""
        if self._spare_seconds <= 0:
            return False
        return num_short <= min(self._num_running_rows, self.batch_rows) // _PART_ALONE


def _rows_of(tasks: Iterable[SentenceTask]) -> int:
    return sum(task.num_rows for task in tasks)


def _filled(
    taken: list[SentenceTask], tasks: Iterable[SentenceTask], most_rows: int
) -> list[SentenceTask]:
    """`taken` and further tasks until there are `most_rows`; the last may exceed them."""
    chosen, num_rows = dict.fromkeys(taken), _rows_of(taken)
    for task in tasks:
        if num_rows >= most_rows:
            break
        if task not in chosen:
            chosen[task] = None
            num_rows += task.num_rows
    return list(chosen)
