"""Assign slots and rows to sentences: host bookkeeping, no tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol


class Compaction(NamedTuple):
    """Copies to make after sentences are evicted: (target, source) of rows and of slots. No source
    is also a target."""

    rows: list[tuple[int, int]]
    slots: list[tuple[int, int]]


class BatchView:
    """A selection of slots and their rows. A row's place is its index among all of them."""

    def __init__(self, slots: Sequence[int], groups: Sequence[list[int]]) -> None:
        """`groups`: the rows of each slot."""
        self.slots, self.groups = slots, groups

    @cached_property
    def rows(self) -> list[int]:
        """All rows, in order of place."""
        return list(itertools.chain.from_iterable(self.groups))

    @cached_property
    def owners(self) -> list[tuple[int, int]]:
        """The (slot, beam) of each row, in order of place."""
        pairs = zip(self.slots, self.groups, strict=True)
        return [(slot, beam) for slot, rows in pairs for beam in range(len(rows))]

    @cached_property
    def table(self) -> list[list[int]]:
        """The places of each slot's rows, padded with its first place."""
        ends = list(itertools.accumulate(map(len, self.groups)))
        pairs = zip(ends, self.groups, strict=True)
        return _widened([list(range(end - len(rows), end)) for end, rows in pairs])


class SlotAllocator(Protocol):
    """Slots and rows of the running sentences, by handle."""

    @property
    def handles(self) -> Sequence[int]: ...

    @property
    def num_slots(self) -> int: ...

    @property
    def num_rows(self) -> int: ...

    def slot(self, handle: int) -> int:
        """The slot of a sentence. Raises KeyError if the handle is not running."""

    def first_row(self, handle: int) -> int:
        """The row of a sentence's first beam."""

    def view(self, handles: Sequence[int]) -> BatchView:
        """The batch view of these sentences."""

    def add(self, handle: int, beam_size: int) -> int:
        """Assign a slot and `beam_size` rows -> the slot."""

    def remove(self, handles: Sequence[int]) -> Compaction:
        """Free the slots and rows of sentences -> the copies that compaction needs."""


class FixedSlotAllocator:
    """Sentences never move: a new sentence takes the slot and rows freed last."""

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

    def first_row(self, handle: int) -> int:
        return self._groups[self._slots[handle]][0]

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
    """Keeps live slots at 0..N-1 and live rows at 0..R-1: the last ones fill freed places."""

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

    def first_row(self, handle: int) -> int:
        return self.rows[self._slots[handle]][0]

    def view(self, handles: Sequence[int]) -> BatchView:
        """Every row's place is its number. Raises ValueError for a subset."""
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
        """The last rows and slots fill the freed places."""
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
    """All slots; every row's place is its number."""

    def __init__(self, groups: Sequence[list[int]], owners: list[tuple[int, int]]) -> None:
        super().__init__(range(len(groups)), groups)
        self.rows = list(range(len(owners)))
        self.owners = owners
        self.table = _widened(groups)


def _fill_holes(freed: Sequence[int], num_before: int) -> list[tuple[int, int]]:
    """(target, source) moves of the last entries into freed places below the new count."""
    count = num_before - len(freed)
    gone = set(freed)
    holes = sorted(place for place in freed if place < count)
    tail = [place for place in range(count, num_before) if place not in gone]
    return list(zip(holes, tail, strict=True))


def _widened(table: Sequence[list[int]]) -> list[list[int]]:
    """Pad each list to the longest with its first entry."""
    width = max(map(len, table), default=0)
    return [rows + rows[:1] * (width - len(rows)) for rows in table]
