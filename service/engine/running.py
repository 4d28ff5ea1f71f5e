"""The tasks that run on one runner: their levels, and the steps that each has had.

A step of all tasks is counted once, not for each of them: it changes only tasks that rise a level.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter

from service.engine.sentence_task import SentenceTask, end_of_level, level_of


class RunningTasks:
    """The running tasks by handle. Only the worker's thread changes them."""

    def __init__(self) -> None:
        self.by_handle: dict[int, SentenceTask] = {}
        self.new: set[SentenceTask] = set()
        """Those that no step has taken yet."""
        self.lowest_level, self.highest_level = sys.maxsize, 0
        """Those of the tasks."""
        self._num_rows = Counter[int]()
        """Of each level that has tasks."""
        self._num_steps = 0
        self._rises: dict[int, set[SentenceTask]] = {}
        """The tasks by the number of steps after which they may be one level higher: at the
        earliest, since steps that leave a task out put it off."""
        self._all_stepped_seconds: float | None = 0.0
        """When the last step ended if it took all tasks; they do not store it then."""

    def __len__(self) -> int:
        return len(self.by_handle)

    @property
    def num_rows(self) -> int:
        """Rows of all tasks. Any thread may ask."""
        return sum(list(self._num_rows.values()))

    def num_rows_to(self, level: int) -> int:
        """The rows of the tasks up to this level."""
        return sum(num_rows for own, num_rows in self._num_rows.items() if own <= level)

    def of_level(self, level: int) -> list[SentenceTask]:
        return [task for task in self.by_handle.values() if task.level == level]

    def by_level(self) -> list[SentenceTask]:
        """The most urgent first, and of each level the oldest."""
        return sorted(self.by_handle.values(), key=attrgetter("level"))

    def by_wait(self, by_level: Sequence[SentenceTask]) -> list[SentenceTask]:
        """Those first that have waited longest for a step, and of these the most urgent."""
        self._store_seconds()
        return sorted(by_level, key=attrgetter("stepped_seconds"))

    def num_steps(self, task: SentenceTask) -> int:
        """The counted steps of a running task. Any thread may ask."""
        return self._num_steps - task.num_missed

    def enter(self, task: SentenceTask, handle: int) -> None:
        task.handle, self.by_handle[handle] = handle, task
        task.num_missed = self._num_steps
        self.new.add(task)
        self._enter_level(task)

    def leave(self, handle: int) -> SentenceTask:
        """Remove a task, and store its number of steps."""
        task = self.by_handle.pop(handle)
        task.num_steps = self._num_steps - task.num_missed
        self.new.discard(task)
        self._leave_level(task)
        return task

    def clear(self) -> None:
        """Forget all tasks."""
        self.by_handle.clear()
        self.new.clear()
        self._num_rows.clear()

    def renew_level(self, task: SentenceTask) -> None:
        """Make a running task as urgent as its steps and its requests are now."""
        self._leave_level(task)
        self._enter_level(task)

    def waits_since(self, chosen: Sequence[SentenceTask] | None) -> float | None:
        """When the one of these, or of all if None, that waits longest for a step had its last one;
        None: none has had any."""
        seconds = self._all_stepped_seconds
        if seconds is not None and chosen is None:
            return seconds if len(self.by_handle) > len(self.new) else None
        self._store_seconds()
        tasks = self.by_handle.values() if chosen is None else chosen
        return min((task.stepped_seconds for task in tasks if task not in self.new), default=None)

    def note_step(
        self, chosen: Sequence[SentenceTask] | None, ended: float, *, is_counted: bool
    ) -> Collection[SentenceTask]:
        """Note a step of these tasks, or of all if None -> those whose first step it was."""
        self._num_steps += is_counted
        if chosen is None:
            self._all_stepped_seconds = ended
            first, self.new = self.new, set()
        else:
            self._note_part(chosen, ended)
            first = self.new.intersection(chosen)
            self.new -= first
        if is_counted and (rising := self._rises.pop(self._num_steps, None)):
            for task in rising:
                self.renew_level(task)
        return first

    def _note_part(self, chosen: Sequence[SentenceTask], ended: float) -> None:
        self._store_seconds()
        for task in self.by_handle.values():
            task.num_missed += 1
        for task in chosen:
            task.num_missed -= 1
            task.stepped_seconds = ended

    def _store_seconds(self) -> None:
        """Let each task know when it had its last step."""
        seconds, self._all_stepped_seconds = self._all_stepped_seconds, None
        if seconds is not None:
            for task in self.by_handle.values():
                if task not in self.new:
                    task.stepped_seconds = seconds

    def _enter_level(self, task: SentenceTask) -> None:
        """The logarithm of the work of the whole request, or of what the task has had if that is
        more."""
        if task.request_work:
            attained = task.num_tokens + task.num_rows * (self._num_steps - task.num_missed)
            task.level = level_of(max(attained, task.request_work))
            num_steps = -(-(end_of_level(task.level) - task.num_tokens) // task.num_rows)
            task.rises_at = task.num_missed + num_steps
            self._rises.setdefault(task.rises_at, set()).add(task)
        self._num_rows[task.level] += task.num_rows
        self.lowest_level = min(self.lowest_level, task.level)
        self.highest_level = max(self.highest_level, task.level)

    def _leave_level(self, task: SentenceTask) -> None:
        self._num_rows[task.level] -= task.num_rows
        if not self._num_rows[task.level]:
            del self._num_rows[task.level]
            self.lowest_level = min(self._num_rows, default=sys.maxsize)
            self.highest_level = max(self._num_rows, default=0)
        if rising := self._rises.get(task.rises_at):
            rising.discard(task)
            if not rising:
                del self._rises[task.rises_at]
