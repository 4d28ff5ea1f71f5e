"""Who takes part in the next step. Pure Python: no clock, no thread, no tensors.

On a CPU a step costs nearly as much as it has rows, so that a short sentence among many long ones
would wait in each of its steps for theirs. Sentences that have had few steps therefore also step by
themselves, between those of all: foreground and background, as in least-attained-service scheduling
(Kleinrock 1976, "Queueing Systems", volume 2, chapter 4).
"""

from __future__ import annotations

from service.engine.sentence_task import SentenceTask

_YOUNG_STEPS = 16
_FIXED_ROWS = 24
"""What a step costs besides its rows, in rows."""
_LEAST_SAVING = 3
_SHARE = 0.5
_MOST_CREDIT = 500.0


class StepPolicy:
    """The running sequences, the young ones among them, and the credit for steps of their own.

    Each step of all earns a share of its cost, and a step of the young ones alone spends its own:
    so the others lose at most a third of the time, however many newcomers there are. The young ones
    step alone only where that costs a third of a step of all, because it makes steps smaller.
    """

    def __init__(self) -> None:
        self.num_rows = 0
        """Hypotheses of the running sequences."""
        self._ages: dict[SentenceTask, int] = {}
        self._credit = 0.0

    def enter(self, task: SentenceTask) -> None:
        """The sequence begins to run."""
        self.num_rows += task.num_rows
        self._ages[task] = 0

    def leave(self, task: SentenceTask) -> None:
        """The sequence has ended."""
        self.num_rows -= task.num_rows
        self._ages.pop(task, None)

    def take(self, can_step_subset: bool) -> list[SentenceTask] | None:
        """Who steps now; None: all. Otherwise some are left out, if they can be."""
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
