"""Who runs next. Pure Python: no clock, no thread, no tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from service.sequence import Request, Sequence


class Scheduler:
    """The waiting sequences, oldest first.

    The head is never overtaken, so a wide beam cannot starve; what could never fit is refused
    before it gets here.
    """

    def __init__(self) -> None:
        self._waiting: deque[Sequence] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, sequences: Iterable[Sequence]) -> None:
        self._waiting.extend(sequences)

    def take(self, num_free_slots: int, num_free_rows: int) -> list[Sequence]:
        """Remove and return the oldest sequences that fit into this many slots and rows."""
        taken: list[Sequence] = []
        while self._waiting and num_free_slots > 0 and self._waiting[0].num_rows <= num_free_rows:
            sequence = self._waiting.popleft()
            num_free_slots -= 1
            num_free_rows -= sequence.num_rows
            taken.append(sequence)
        return taken

    def remove(self, request: Request) -> list[Sequence]:
        """Remove and return what the request still has waiting."""
        removed = [seq for seq in self._waiting if seq.request is request]
        self._waiting = deque(seq for seq in self._waiting if seq.request is not request)
        return removed

    def drain(self) -> list[Sequence]:
        """Remove and return everything."""
        drained = list(self._waiting)
        self._waiting.clear()
        return drained
