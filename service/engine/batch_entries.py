"""What runs in a batch, for people who watch it: numbers of the sentences, never their texts."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from service.engine.sentence_task import SentenceTask

_MOST_LEFT = 256


class BatchEntry(NamedTuple):
    """A sentence in a batch: a number that no other one of its worker has, its hypotheses, its
    source tokens, the steps it had, and the monotonic seconds at which it joined and left. Steps
    are 0 where each step takes all sentences; `left` is None while it runs."""

    number: int
    num_rows: int
    num_tokens: int
    num_steps: int
    joined: float
    left: float | None


class RecentEntries:
    """The sentences that left a batch last, at most 256. The worker's thread adds, any thread
    reads."""

    def __init__(self) -> None:
        self._left: deque[BatchEntry] = deque(maxlen=_MOST_LEFT)

    def add(self, task: SentenceTask, left: float) -> None:
        """Note a task that leaves the batch at this monotonic time."""
        self._left.append(_entry(task, left))

    def since(self, seconds: float) -> list[BatchEntry]:
        """Those that left after this monotonic time, in that order."""
        newest_first = reversed(self._left.copy())
        recent = itertools.takewhile(lambda entry: (entry.left or 0.0) > seconds, newest_first)
        return list(recent)[::-1]


def running_entries(tasks: Iterable[SentenceTask]) -> list[BatchEntry]:
    """The tasks of a batch, while another thread may step them."""
    return [_entry(task, None) for task in tasks]


def _entry(task: SentenceTask, left: float | None) -> BatchEntry:
    number = -1 if task.handle is None else task.handle
    return BatchEntry(
        number, task.num_rows, task.num_tokens, task.num_steps, task.admitted_seconds, left
    )
