"""Who runs next. Pure Python: no clock, no thread, no tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from service.engine.sentence_task import Request, Sequence

_MOST_TURNS = 8
_WORTHWHILE_SHARE = 4


class Scheduler:
    """The waiting sequences. Requests take turns, one sequence each, oldest first.

    So a request of a thousand sentences does not hold back one that comes after it. Whoever's turn
    it is is never overtaken, so that a wide beam cannot starve; what could never fit is refused
    before it gets here. `max_prefill_tokens` bounds the source tokens encoded in one turn, so that
    running sentences do not wait long for new ones.
    """

    def __init__(self, max_prefill_tokens: int) -> None:
        self.max_prefill_tokens = max_prefill_tokens
        self._turns: dict[Request, deque[Sequence]] = {}
        self._num_waiting = 0
        self._turns_since_taken = _MOST_TURNS

    def __bool__(self) -> bool:
        return bool(self._turns)

    def add(self, sequences: Iterable[Sequence]) -> None:
        """By their rank; those of a request stand together."""
        for sequence in sorted(sequences, key=lambda sequence: sequence.rank):
            self._turns.setdefault(sequence.request, deque()).append(sequence)
            self._num_waiting += 1

    def take(self, num_free_slots: int, num_free_rows: int, num_running: int = 0) -> list[Sequence]:
        """Remove and return the next sequences that fit into this many slots and rows; called once
        a turn."""
        self._turns_since_taken += 1
        are_few = _WORTHWHILE_SHARE * min(self._num_waiting, num_free_slots) < num_running
        if are_few and self._turns_since_taken <= _MOST_TURNS:
            return []
        taken = self._take_fitting(num_free_slots, num_free_rows)
        if taken:
            self._turns_since_taken = 0
        return taken

    def remove(self, request: Request) -> list[Sequence]:
        """Remove and return what the request still has waiting."""
        removed = list(self._turns.pop(request, ()))
        self._num_waiting -= len(removed)
        return removed

    def _take_fitting(self, num_free_slots: int, num_free_rows: int) -> list[Sequence]:
        taken: list[Sequence] = []
        budget = self.max_prefill_tokens
        while self._turns and num_free_slots > len(taken):
            request = next(iter(self._turns))
            sequence = self._turns[request][0]
            is_over_budget = taken and sequence.num_tokens > budget
            if sequence.num_rows > num_free_rows or is_over_budget:
                break
            self._end_turn(request)
            num_free_rows -= sequence.num_rows
            budget -= sequence.num_tokens
            taken.append(sequence)
        return taken

    def _end_turn(self, request: Request) -> None:
        """Drop the request's oldest sequence; with more waiting it goes to the end of the line."""
        waiting = self._turns.pop(request)
        waiting.popleft()
        self._num_waiting -= 1
        if waiting:
            self._turns[request] = waiting
