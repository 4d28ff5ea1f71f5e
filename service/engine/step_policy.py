"""Selects the tasks of the next step. Pure Python: no clock, no thread, no tensors.

On a CPU the cost of a step is nearly proportional to its rows, so many long sentences would slow
each step of a short one. Young tasks, which have had few steps, therefore also step alone between
full steps: foreground and background, as in least-attained-service scheduling (Kleinrock 1976,
"Queueing Systems", volume 2, chapter 4).
"""

from __future__ import annotations

from service.engine.sentence_task import SentenceTask

_YOUNG_STEPS = 16
_FIXED_ROWS = 24
"""Fixed cost of a step, in rows."""
_LEAST_SAVING = 3
_SHARE = 0.5
_MOST_CREDIT = 500.0


class StepPolicy:
    """The running tasks, the young tasks, and the credit for steps of young tasks alone.

    A full step earns a share of its cost as credit, and a step of young tasks alone spends its
    cost. Older tasks thus lose at most a third of the time, for any number of new tasks. Young
    tasks step alone only if that costs at most a third of a full step, because it makes steps
    smaller.
    """

    def __init__(self) -> None:
        self.num_rows = 0
        """Hypotheses of the running tasks."""
        self._ages: dict[SentenceTask, int] = {}
        self._credit = 0.0

    def enter(self, task: SentenceTask) -> None:
        """Add a task that starts to run."""
        self.num_rows += task.num_rows
        self._ages[task] = 0

    def leave(self, task: SentenceTask) -> None:
        """Remove a task that has ended."""
        self.num_rows -= task.num_rows
        self._ages.pop(task, None)

    def take(self, can_step_subset: bool) -> list[SentenceTask] | None:
        """Return the tasks to step, or None for all; a subset only if `can_step_subset`."""
        own_cost = _FIXED_ROWS + sum(task.num_rows for task in self._ages)
        full_cost = _FIXED_ROWS + self.num_rows
        is_cheap = full_cost >= _LEAST_SAVING * own_cost
        is_alone = can_step_subset and is_cheap and bool(self._ages) and self._credit >= own_cost
        taken = list(self._ages) if is_alone else None
        earned = -own_cost if is_alone else _SHARE * full_cost
        self._credit = min(self._credit + earned, _MOST_CREDIT)
        self._grow_older()
        return taken

    def _grow_older(self) -> None:
        aged = {task: age + 1 for task, age in self._ages.items()}
        self._ages = {task: age for task, age in aged.items() if age < _YOUNG_STEPS}
