"""Chooses the tasks to admit next. Pure Python: no clock, no thread, no tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from service.engine.sentence_task import EngineRequest, SentenceTask

_MOST_STEPS_WAITED = 8
_WORTHWHILE_SHARE = 4


class Scheduler:
    """The waiting sentence tasks, round robin over requests: one task each, oldest first.

    A request of a thousand sentences therefore does not delay a later one. The head of the queue
    is never skipped, so wide beams cannot starve; the engine refuses beams that can never fit.
    `max_prefill_tokens` bounds the source tokens encoded between two steps, because running
    sentences wait for the encoder.
    """

    def __init__(self, max_prefill_tokens: int) -> None:
        self.max_prefill_tokens = max_prefill_tokens
        self._queues: dict[EngineRequest, deque[SentenceTask]] = {}
        self._num_waiting = 0
        self._steps_since_taken = _MOST_STEPS_WAITED

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, tasks: Iterable[SentenceTask]) -> None:
        """Queue the tasks by request, in order of rank."""
        for task in sorted(tasks, key=lambda task: task.rank):
            self._queues.setdefault(task.request, deque()).append(task)
            self._num_waiting += 1

    def take(
        self, num_free_slots: int, num_free_rows: int, num_running: int = 0
    ) -> list[SentenceTask]:
        """Remove and return the next tasks that fit into the free slots and rows. Call once per
        step."""
        self._steps_since_taken += 1
        are_few = _WORTHWHILE_SHARE * min(self._num_waiting, num_free_slots) < num_running
        if are_few and self._steps_since_taken <= _MOST_STEPS_WAITED:
            return []
        taken = self._take_fitting(num_free_slots, num_free_rows)
        if taken:
            self._steps_since_taken = 0
        return taken

    def remove(self, request: EngineRequest) -> list[SentenceTask]:
        """Remove and return the request's waiting tasks."""
        removed = list(self._queues.pop(request, ()))
        self._num_waiting -= len(removed)
        return removed

    def _take_fitting(self, num_free_slots: int, num_free_rows: int) -> list[SentenceTask]:
        taken: list[SentenceTask] = []
        budget = self.max_prefill_tokens
        while self._queues and num_free_slots > len(taken):
            request = next(iter(self._queues))
            task = self._queues[request][0]
            is_over_budget = taken and task.num_tokens > budget
            if task.num_rows > num_free_rows or is_over_budget:
                break
            self._take_first_of(request)
            num_free_rows -= task.num_rows
            budget -= task.num_tokens
            taken.append(task)
        return taken

    def _take_first_of(self, request: EngineRequest) -> None:
        """Drop the request's first task; if more wait, move the request to the end of the queue."""
        waiting = self._queues.pop(request)
        waiting.popleft()
        self._num_waiting -= 1
        if waiting:
            self._queues[request] = waiting
