"""Which slot and rows belong to which sentence: host bookkeeping, no tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol


class Compaction(NamedTuple):
    """What must be copied after sentences left: (target, source) of rows and of slots. No source
    is the target of another one."""

    rows: list[tuple[int, int]]
    slots: list[tuple[int, int]]


class BatchView:
    """Some slots, the rows of each, and a place for every row: one after the other."""

    def __init__(self, slots: Sequence[int], groups: Sequence[list[int]]) -> None:
        """`groups`: each slot's rows."""
        self.slots, self.groups = slots, groups

    @cached_property
    def rows(self) -> list[int]:
        """All rows, by their places."""
        return list(itertools.chain.from_iterable(self.groups))

    @cached_property
    def owners(self) -> list[tuple[int, int]]:
        """The (slot, beam) that each of them belongs to."""
        pairs = zip(self.slots, self.groups, strict=True)
        return [(slot, beam) for slot, rows in pairs for beam in range(len(rows))]

    @cached_property
    def table(self) -> list[list[int]]:
        """For every slot the places of its rows, widened with its own first one's."""
        ends = list(itertools.accumulate(map(len, self.groups)))
        pairs = zip(ends, self.groups, strict=True)
        return _widened([list(range(end - len(rows), end)) for end, rows in pairs])


class SlotAllocator(Protocol):
    """Slots and rows of the running sentences, which are known by their handles."""

    @property
    def handles(self) -> Sequence[int]: ...

    @property
    def num_slots(self) -> int: ...

    @property
    def num_rows(self) -> int: ...

    def slot(self, handle: int) -> int:
        """KeyError if the handle is not running."""

    def view(self, handles: Sequence[int]) -> BatchView:
        """Slots and rows of these sentences."""

    def add(self, handle: int, beam_size: int) -> int:
        """Give a sentence a slot and rows -> its slot."""

    def remove(self, handles: Sequence[int]) -> Compaction:
        """Take sentences out -> who has to move therefore."""


class FixedSlotAllocator:
    """Nobody moves: a newcomer takes the slot and the rows that became free last."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._groups: list[list[int]] = []
        self._free_slots: list[int] = []
        self._free_rows: list[int] = []
        self._num_rows_ever = 0

    @property
    def handles(self) -> list[int]:
        return list(self._slots)

    @property
    def num_slots(self) -> int:
        return len(self._slots)

    @property
    def num_rows(self) -> int:
        return self._num_rows_ever - len(self._free_rows)

    def slot(self, handle: int) -> int:
        return self._slots[handle]

    def view(self, handles: Sequence[int]) -> BatchView:
        slots = [self._slots[handle] for handle in handles]
        return BatchView(slots, [self._groups[slot] for slot in slots])

    def add(self, handle: int, beam_size: int) -> int:
        rows = [self._free_rows.pop() for _ in range(min(beam_size, len(self._free_rows)))]
        first = self._num_rows_ever
        self._num_rows_ever += beam_size - len(rows)
        rows += range(first, self._num_rows_ever)
        if self._free_slots:
            slot = self._free_slots.pop()
            self._groups[slot] = rows
        else:
            slot = len(self._groups)
            self._groups.append(rows)
        self._slots[handle] = slot
        return slot

    def remove(self, handles: Sequence[int]) -> Compaction:
        for handle in handles:
            slot = self._slots.pop(handle)
            self._free_slots.append(slot)
            self._free_rows += self._groups[slot]
        return Compaction([], [])


class CompactSlotAllocator:
    """Live slots stay 0..N-1 and live rows 0..R-1: what leaves is replaced by what is last."""

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
        return self._slots[handle]

    def view(self, handles: Sequence[int]) -> BatchView:
        """Every row in its own place; ValueError unless these are all."""
        if len(handles) < self.num_slots:
            raise ValueError("on this device a step is of all running sentences")
        return _FullView(self.rows, self._owners)

    def add(self, handle: int, beam_size: int) -> int:
        slot = self.num_slots
        first = self.num_rows
        self.handles.append(handle)
        self.rows.append(list(range(first, first + beam_size)))
        self._owners += [(slot, beam) for beam in range(beam_size)]
        self._slots[handle] = slot
        return slot

    def remove(self, handles: Sequence[int]) -> Compaction:
        """The last rows and the last slots fill the holes."""
        slots = [self._slots.pop(handle) for handle in handles]
        row_moves = self._compact_rows([row for slot in slots for row in self.rows[slot]])
        slot_moves = _fill_holes(slots, self.num_slots)
        for target, source in slot_moves:
            self.handles[target] = self.handles[source]
            self.rows[target] = self.rows[source]
            self._slots[self.handles[target]] = target
            for beam, row in enumerate(self.rows[target]):
                self._owners[row] = (target, beam)
        count = self.num_slots - len(slots)
        del self.handles[count:], self.rows[count:]
        return Compaction(row_moves, slot_moves)

    def _compact_rows(self, freed: list[int]) -> list[tuple[int, int]]:
        moves = _fill_holes(freed, self.num_rows)
        for target, source in moves:
            slot, beam = self._owners[source]
            self._owners[target] = (slot, beam)
            self.rows[slot][beam] = target
        del self._owners[self.num_rows - len(freed) :]
        return moves


class _FullView(BatchView):
    """All slots, every row in its own place."""

    def __init__(self, groups: Sequence[list[int]], owners: list[tuple[int, int]]) -> None:
        super().__init__(range(len(groups)), groups)
        self.rows = list(range(len(owners)))
        self.owners = owners
        self.table = _widened(groups)


def _fill_holes(freed: Sequence[int], num_before: int) -> list[tuple[int, int]]:
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
