"""Selects the tasks of the next step. Pure Python: no clock, no thread, no tensors.

Where a step may leave tasks out, it takes a batch of bounded cost, short work first: multi-level
feedback (Corbato et al. 1962, "An Experimental Time-Sharing System"; analysed as least attained
service in Kleinrock 1976, "Queueing Systems", volume 2, chapter 4). A task starts at the level of
the work that its request is expected to need, because the length of a source predicts the length
of its translation, and moves on when it has had more (`SentenceTask.level`). Tasks of a level go
first come, first served. Tasks that are left out keep their rows and cache.

Nothing starves. A share of each batch goes to the tasks that have waited longest for a step, so
`most_steps_waited` bounds the batches that a task waits; and steps of short work alone waste at
most 7 % of the time and take at most a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from model.decoding.step_cost import NOMINAL, StepCost
from service.engine.sentence_task import SHORT_WORK, SentenceTask

_FIXED_SHARE = 0.1
"""The fixed cost of a step is at most this share of the cost of a full batch."""
_LEAST_ROWS = 64
"""A batch has room for so many rows, whatever is measured: a busy neighbour disturbs it."""
_EFFICIENT_SHARE = 0.05
"""The fixed cost's share of a step, above which a larger one is worth little."""
_FIXED_ENCODING_SHARE, _EFFICIENT_ENCODING_SHARE = 0.17, 0.1
"""The same two of an encoding."""
_WAIT_SHARE = 0.4
"""Where all running work is long, steps and encodings are larger than that: up to this share of the
shortest running work."""
_AGED_SHARE = 0.15
"""The share of a batch for the tasks that have waited longest."""
_LEVELS_AHEAD, _LONG_ROWS_SHARE = 2, 0.3
"""Work steps alone if it is so many levels (2: a quarter of the size) below that which all but
three tenths of the rows do not exceed."""
_LEAST_SAVING = 3
_CREDIT_SHARE = 0.07
_ROWS_SPENT = 2 * _CREDIT_SHARE
"""A step of short work alone wastes its fixed cost, which it spends of the credit, with this share
of the rest, because others wait for it: at most half of what batches cost."""
_MOST_CREDIT = 16
"""In fixed costs of a step, beside that of an encoding: enough for a short sentence."""


class StepPolicy:
    """The running tasks, by level and by their wait, and the credit for steps of short work alone.

    A batch earns 7 % of its cost as credit; a step of short work alone spends what it
    wastes, because the next batch would take the same rows along. It costs at most a third of a
    batch.
    """

    def __init__(self, cost: StepCost = NOMINAL) -> None:
        self.cost = cost
        self.num_rows = 0
        """Hypotheses of the running tasks."""
        self.step_size = (0, 0)
        """Rows of the last step, and the positions that they attended to."""
        self._levels: dict[int, dict[SentenceTask, None]] = {}
        self._rows: Counter[int] = Counter()
        self._level_of: dict[SentenceTask, int] = {}
        self._by_wait: dict[SentenceTask, None] = {}
        self._num_positions = 0
        self._credit = self._most_credit

    @property
    def cost(self) -> StepCost:
        """Current costs; the owner keeps them up to date."""
        return self._step_cost

    @cost.setter
    def cost(self, cost: StepCost) -> None:
        self._step_cost = cost
        self._least_cost = max(cost.fixed * (1 / _FIXED_SHARE - 1), _LEAST_ROWS * cost.per_row)
        self._efficient_cost = cost.fixed * (1 / _EFFICIENT_SHARE - 1)
        least_encoding = cost.encode_fixed * (1 / _FIXED_ENCODING_SHARE - 1)
        self._least_encoding = max(self._least_cost, least_encoding)
        self._efficient_encoding = cost.encode_fixed * (1 / _EFFICIENT_ENCODING_SHARE - 1)

    @property
    def most_cost(self) -> float:
        """The bound on the cost of a batch, beyond its fixed cost."""
        worth_it = min(self._efficient_cost, self._tolerable(self.cost.per_row))
        return max(self._least_cost, worth_it)

    def most_source_tokens(self, level: int) -> int:
        """The bound on the source tokens of an encoding between two steps, if its most urgent task
        is of this level: so many that its fixed cost is small."""
        per_token = self.cost.per_source_token
        worth_it = min(self._efficient_encoding, self._tolerable(per_token, level))
        return int(max(self._least_encoding, worth_it) / per_token)

    def _tolerable(self, unit_cost: float, level: int | None = None) -> float:
        """A cost that is a small share of the shortest work that runs or is of this level."""
        levels = list(self._levels) if level is None else [*self._levels, level]
        lowest = min(levels, default=0)
        return _WAIT_SHARE * unit_cost * (SHORT_WORK << lowest) / 2

    @property
    def most_steps_waited(self) -> int:
        """The bound on the batches between two steps of a task, with the tasks that run now."""
        return 1 + int(self._all_cost / (_AGED_SHARE * self._least_cost))

    def room(self, level: int) -> int:
        """Rows that a batch has left beyond the running tasks of this level and below; below 0 if
        some of these are left out."""
        num_rows = sum(rows for other, rows in self._rows.items() if other <= level)
        return int(self.most_cost / self.cost.per_row) - num_rows

    def enter(self, task: SentenceTask) -> None:
        """Add a task that starts to run."""
        self.num_rows += task.num_rows
        self._num_positions += task.num_rows * task.num_steps
        self._by_wait[task] = None
        self._put(task, task.level)

    def leave(self, task: SentenceTask) -> None:
        """Remove a task that has ended."""
        self.num_rows -= task.num_rows
        self._num_positions -= task.num_rows * task.num_steps
        del self._by_wait[task]
        self._drop(task)

    def take(self, can_step_subset: bool) -> list[SentenceTask] | None:
        """Return the tasks to step, or None for all; a subset only if `can_step_subset`."""
        if not can_step_subset:
            return None
        return self.take_short() or self.take_batch()

    @property
    def short_level(self) -> int:
        """Work of this level or below may step alone now; below 0: none may."""
        return self._high_level - _LEVELS_AHEAD if self._credit > 0 else -1

    @property
    def _high_level(self) -> int:
        """The lowest level that all but three tenths of the rows do not exceed; -1 if none runs."""
        num_above = 0
        for level in sorted(self._levels, reverse=True):
            num_above += self._rows[level]
            if num_above > _LONG_ROWS_SHARE * self.num_rows:
                return level
        return -1

    def take_short(self) -> list[SentenceTask]:
        """Return the tasks to step alone now, possibly none."""
        highest = self.short_level
        if min(self._levels, default=0) > highest:
            return []
        short = [level for level in sorted(self._levels) if level <= highest]
        taken = [task for level in short for task in self._levels[level]]
        fixed, cost_of_rows = self.cost.fixed, sum(map(self._cost, taken))
        spent = fixed + _ROWS_SPENT * cost_of_rows
        is_cheap = (fixed + cost_of_rows) * _LEAST_SAVING <= self._batch_cost
        if not taken or not is_cheap or spent > self._credit:
            return []
        self._credit -= spent
        return self._stepped(taken)

    def take_batch(self) -> list[SentenceTask] | None:
        """Return the tasks of a batch of bounded cost, or None for all."""
        self._earn(self._batch_cost)
        if self._all_cost <= self.most_cost:
            self._stepped(list(self._by_wait))
            return None
        most_cost = self.most_cost
        taken, cost = self._filled({}, 0.0, self._by_wait, _AGED_SHARE * most_cost)
        by_level = (task for level in sorted(self._levels) for task in self._levels[level])
        return self._stepped(list(self._filled(taken, cost, by_level, most_cost)[0]))

    def spend_on_encoding(self, num_tokens: int) -> None:
        """Spend credit on an encoding of short work before its turn."""
        cost = self.cost
        self._credit -= cost.encode_fixed + _ROWS_SPENT * cost.per_source_token * num_tokens

    def _filled(
        self,
        taken: dict[SentenceTask, None],
        cost: float,
        tasks: Iterable[SentenceTask],
        most_cost: float,
    ) -> tuple[dict[SentenceTask, None], float]:
        """`taken`, which has this cost, and further tasks until `most_cost` is reached; the last
        may exceed it -> these and their cost."""
        per_row, per_position = self.cost.per_row, self.cost.per_position
        for task in tasks:
            if cost >= most_cost:
                break
            if task not in taken:
                cost += task.num_rows * (per_row + per_position * task.num_steps)
                taken[task] = None
        return taken, cost

    def _earn(self, cost: float) -> None:
        self._credit = min(self._credit + _CREDIT_SHARE * cost, self._most_credit)

    @property
    def _most_credit(self) -> float:
        return _MOST_CREDIT * self.cost.fixed + self.cost.encode_fixed

    @property
    def _batch_cost(self) -> float:
        return self.cost.fixed + min(self._all_cost, self.most_cost)

    @property
    def _all_cost(self) -> float:
        return self.cost.of_rows(self.num_rows, self._num_positions)

    def _cost(self, task: SentenceTask) -> float:
        return self.cost.of_rows(task.num_rows, task.num_rows * task.num_steps)

    def _stepped(self, taken: list[SentenceTask]) -> list[SentenceTask]:
        """Count a step of each task, and move those that had more work than expected."""
        num_rows = num_positions = 0
        for task in taken:
            num_rows += task.num_rows
            num_positions += task.num_rows * task.num_steps
            task.num_steps += 1
            del self._by_wait[task]
            self._by_wait[task] = None
            if (level := task.level) != self._level_of[task]:
                self._drop(task)
                self._put(task, level)
        self.step_size = num_rows, num_positions
        self._num_positions += num_rows
        return taken

    def _put(self, task: SentenceTask, level: int) -> None:
        self._level_of[task] = level
        self._rows[level] += task.num_rows
        self._levels.setdefault(level, {})[task] = None

    def _drop(self, task: SentenceTask) -> None:
        level = self._level_of.pop(task)
        self._rows[level] -= task.num_rows
        del self._levels[level][task]
        if not self._levels[level]:
            del self._levels[level]
