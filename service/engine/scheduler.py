"""Chooses the tasks to admit next. Pure Python: no clock, no thread, no tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from service.engine.sentence_task import EngineRequest, SentenceTask

_MOST_STEPS_WAITED = 8
_WORTHWHILE_SHARE = 4
_AGED_EVERY = 32
_Queues = dict[EngineRequest, deque[SentenceTask]]


class Scheduler:
    """The waiting sentence tasks: short work first, and round robin over requests of a level.

    A request of a thousand sentences therefore does not delay a later one. At least every 32nd
    call takes tasks of the level whose head is oldest, so no level starves. A head that is next
    but does not fit is never skipped, so wide beams cannot starve; the engine refuses beams that
    can never fit.
    `max_prefill_tokens` bounds the source tokens encoded between two steps, because running
    sentences wait for the encoder.
    """

    def __init__(self, max_prefill_tokens: int) -> None:
        self.max_prefill_tokens = max_prefill_tokens
        self._levels: dict[int, _Queues] = {}
        self._num_waiting = self._steps_passed_over = 0
        self._steps_since_taken = _MOST_STEPS_WAITED
        self._held_level: int | None = None

    def __bool__(self) -> bool:
        return bool(self._levels)

    @property
    def lowest_level(self) -> int:
        """The most urgent level with a waiting task. Raises ValueError if nothing waits."""
        return min(self._levels)

    def add(self, tasks: Iterable[SentenceTask]) -> None:
        """Queue the tasks by request, in order of rank."""
        for task in sorted(tasks, key=lambda task: task.rank):
            queues = self._levels.setdefault(task.level, {})
            queues.setdefault(task.request, deque()).append(task)
            self._num_waiting += 1

    def take(
        self,
        num_free_slots: int,
        num_free_rows: int,
        num_running: int = 0,
        max_tokens: int | None = None,
        num_wanted: int | None = None,
    ) -> list[SentenceTask]:
        """Remove and return the next tasks that fit into the free slots and rows: about
        `num_wanted`, with at most `max_tokens` source tokens unless there is only one. Call once
        per step."""
        self._steps_since_taken += 1
        num_wanted = num_free_slots if num_wanted is None else min(num_wanted, num_free_slots)
        if num_free_slots > 0 and self._is_aged_turn(num_wanted):
            num_wanted = num_free_slots
        elif _WORTHWHILE_SHARE * min(self._num_waiting, num_wanted) < num_running and (
            self._steps_since_taken <= _MOST_STEPS_WAITED
        ):
            return []
        taken = self._take_fitting(num_wanted, num_free_rows, self._bound(max_tokens))
        if taken:
            self._steps_since_taken = 0
        return taken

    def take_short(
        self, num_free_slots: int, num_free_rows: int, max_level: int, max_tokens: int
    ) -> list[SentenceTask]:
        """Remove and return the tasks of `max_level` and below that fit, without a wait for
        others; none while the head of the queue waits for rows."""
        if self._held_level is not None:
            return []
        bound = self._bound(max_tokens)
        return self._take_fitting(num_free_slots, num_free_rows, bound, max_level)

    def remove(
        self, request: EngineRequest, tasks: Collection[SentenceTask] | None = None
    ) -> list[SentenceTask]:
        """Remove and return the request's waiting tasks, or those among `tasks`."""
        removed: list[SentenceTask] = []
        for level in list(self._levels):
            waiting = self._levels[level].pop(request, deque())
            is_removed = [tasks is None or task in tasks for task in waiting]
            removed += [task for task, is_gone in zip(waiting, is_removed, strict=True) if is_gone]
            kept = [task for task, is_gone in zip(waiting, is_removed, strict=True) if not is_gone]
            if kept:
                self._levels[level][request] = deque(kept)
            self._drop_if_empty(level)
        self._num_waiting -= len(removed)
        self._held_level = None
        return removed

    def _bound(self, max_tokens: int | None) -> int:
        bound = self.max_prefill_tokens
        return bound if max_tokens is None else min(bound, max_tokens)

    def _take_fitting(
        self, num_free_slots: int, num_free_rows: int, max_tokens: int, max_level: int | None = None
    ) -> list[SentenceTask]:
        taken: list[SentenceTask] = []
        while self._levels and num_free_slots > len(taken):
            level = self._next_level(max_level)
            if max_level is not None and level > max_level:
                break
            request = next(iter(self._levels[level]))
            task = self._levels[level][request][0]
            self._held_level = level if task.num_rows > num_free_rows else None
            if self._held_level is not None or (taken and task.num_tokens > max_tokens):
                break
            self._take_first_of(level, request)
            num_free_rows -= task.num_rows
            max_tokens -= task.num_tokens
            taken.append(task)
        return taken

    def _is_aged_turn(self, num_wanted: int) -> bool:
        """Whether the oldest level was passed over at some steps with free slots; ask once at each
        of them."""
        is_passed_over = bool(self._levels) and (len(self._levels) > 1 or not num_wanted)
        self._steps_passed_over = self._steps_passed_over + 1 if is_passed_over else 0
        return self._steps_passed_over >= _AGED_EVERY

    def _next_level(self, max_level: int | None) -> int:
        """The level whose head waits for rows, the oldest if it was passed over, or the lowest."""
        if self._held_level is not None:
            return self._held_level
        if max_level is not None or self._steps_passed_over < _AGED_EVERY:
            return self.lowest_level
        return self._oldest_level

    @property
    def _oldest_level(self) -> int:
        """The level whose head arrived first."""
        heads = {level: next(iter(queues)) for level, queues in self._levels.items()}
        return min(heads, key=lambda level: heads[level].arrived_seconds)

    def _take_first_of(self, level: int, request: EngineRequest) -> None:
        """Drop the request's first task; if more wait, move the request to the end of its level."""
        if level == self._oldest_level:
            self._steps_passed_over = 0
        queues = self._levels[level]
        waiting = queues.pop(request)
        waiting.popleft()
        self._num_waiting -= 1
        if waiting:
            queues[request] = waiting
        self._drop_if_empty(level)

    def _drop_if_empty(self, level: int) -> None:
        if not self._levels[level]:
            del self._levels[level]
