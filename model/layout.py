"""Which slot and rows belong to which sentence: host bookkeeping, no tensors.

Live slots stay 0..N-1 and live rows 0..R-1: what leaves is replaced by what is last.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple


class Moves(NamedTuple):
    """What must be copied after sentences left: (target, source) of rows and of slots. No source
    is the target of another one."""

    rows: list[tuple[int, int]]
    slots: list[tuple[int, int]]


class Part(NamedTuple):
    """Some slots' rows, the (slot, beam) that owns each, and for every slot the places of its rows
    among them, widened with its own first one's."""

    rows: list[int]
    owners: list[tuple[int, int]]
    table: list[list[int]]


class Layout:
    """Slots and rows of the running sentences, which are known by their handles."""

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.rows: list[list[int]] = []
        self._slots: dict[int, int] = {}
        self._owners: list[tuple[int, int]] = []

    @property
    def num_slots(self) -> int:
        return len(self.handles)

    @property
    def num_rows(self) -> int:
        return len(self._owners)

    def slot(self, handle: int) -> int:
        """KeyError if the handle is not running."""
        return self._slots[handle]

    def whole(self) -> Part:
        """All slots, every row in its own place."""
        return Part(list(range(self.num_rows)), self._owners, _widened(self.rows))

    def part(self, slots: Sequence[int]) -> Part:
        """These slots, their rows one after the other."""
        groups = [self.rows[slot] for slot in slots]
        ends = itertools.accumulate(map(len, groups))
        places = [list(range(end - len(rows), end)) for end, rows in zip(ends, groups, strict=True)]
        owners = [
            (s, beam) for s, rows in zip(slots, groups, strict=True) for beam in range(len(rows))
        ]
        return Part([row for rows in groups for row in rows], owners, _widened(places))

    def add(self, handle: int, beam_size: int) -> int:
        """Give a sentence the next slot and rows -> its slot."""
        slot = self.num_slots
        first = self.num_rows
        self.handles.append(handle)
        self.rows.append(list(range(first, first + beam_size)))
        self._owners += [(slot, beam) for beam in range(beam_size)]
        self._slots[handle] = slot
        return slot

    def remove(self, handles: Sequence[int]) -> Moves:
        """Take sentences out; the last rows and the last slots fill the holes."""
        slots = [self._slots.pop(handle) for handle in handles]
        row_moves = self._close_rows([row for slot in slots for row in self.rows[slot]])
        slot_moves = _closing(slots, self.num_slots)
        for target, source in slot_moves:
            self.handles[target] = self.handles[source]
            self.rows[target] = self.rows[source]
            self._slots[self.handles[target]] = target
            for beam, row in enumerate(self.rows[target]):
                self._owners[row] = (target, beam)
        count = self.num_slots - len(slots)
        del self.handles[count:], self.rows[count:]
        return Moves(row_moves, slot_moves)

    def _close_rows(self, freed: list[int]) -> list[tuple[int, int]]:
        moves = _closing(freed, self.num_rows)
        for target, source in moves:
            slot, beam = self._owners[source]
            self._owners[target] = (slot, beam)
            self.rows[slot][beam] = target
        del self._owners[self.num_rows - len(freed) :]
        return moves


def _closing(freed: Sequence[int], num_before: int) -> list[tuple[int, int]]:
    """Which of the last go into which hole, so that the first num_before - len(freed) are left."""
    count = num_before - len(freed)
    gone = set(freed)
    holes = sorted(place for place in freed if place < count)
    tail = [place for place in range(count, num_before) if place not in gone]
    return list(zip(holes, tail, strict=True))


def _widened(table: Sequence[list[int]]) -> list[list[int]]:
    """Each list made as long as the longest, with its own first entry."""
    width = max(map(len, table), default=0)
    return [rows + rows[:1] * (width - len(rows)) for rows in table]
