"""Slots and rows without holes, for devices whose steps take all of them.

What a step needs is kept in arrays that change with each sentence, so that preparing a step costs
the same for one slot or a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model.decoding.slot_allocator import BatchView, Columns, Compaction

_Array = NDArray[np.int64]
_Moves = list[tuple[int, int]]


class CompactSlotAllocator:
    """Keeps live slots at 0..N-1 and live rows at 0..R-1: the last ones fill freed places."""

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.num_rows = 0
        self._slots: dict[int, int] = {}
        self._sizes = np.zeros(8, dtype=np.int64)
        self._table = np.zeros((8, 4), dtype=np.int64)
        """The rows of each slot, padded with its first."""
        self._owners = np.zeros((2, 16), dtype=np.int64)
        """The slots of rows, and their beams."""

    @property
    def num_slots(self) -> int:
        return len(self.handles)

    def slot(self, handle: int) -> int:
        return self._slots[handle]

    def first_row(self, handle: int) -> int:
        return int(self._table[self._slots[handle], 0])

    def view(self, handles: Sequence[int]) -> BatchView:
        """Every row's place is its number. Raises ValueError for a subset."""
        if len(handles) < self.num_slots:
            raise ValueError("on this device a step is of all running sentences")
        sizes = self._sizes[: self.num_slots].copy()
        width = int(sizes.max(initial=0))
        table = self._table[: self.num_slots, :width].copy()
        return _FullView(sizes, table, self._owners[:, : self.num_rows].copy())

    def add(self, handle: int, beam_size: int) -> int:
        slot, first = self.num_slots, self.num_rows
        self._grow(slot + 1, first + beam_size, beam_size)
        self.handles.append(handle)
        self._slots[handle] = slot
        self.num_rows += beam_size
        self._sizes[slot] = beam_size
        if beam_size == 1:
            self._table[slot] = first
            self._owners[:, first] = slot, 0
            return slot
        beams = np.arange(beam_size)
        self._table[slot] = first
        self._table[slot, :beam_size] += beams
        self._owners[0, first : self.num_rows] = slot
        self._owners[1, first : self.num_rows] = beams
        return slot

    def remove(self, handles: Sequence[int]) -> Compaction:
        """The last rows and slots fill the freed places."""
        slots = [self._slots.pop(handle) for handle in handles]
        freed = [row for slot in slots for row in self._table[slot, : self._sizes[slot]].tolist()]
        row_moves = _fill_holes(freed, self.num_rows)
        self._move_rows(row_moves)
        self.num_rows -= len(freed)
        slot_moves = _fill_holes(slots, self.num_slots)
        self._move_slots(slot_moves)
        del self.handles[self.num_slots - len(slots) :]
        return Compaction(row_moves, slot_moves)

    def _move_rows(self, moves: _Moves) -> None:
        if not moves:
            return
        targets, sources = np.array(moves).T
        owners = self._owners[:, sources]
        self._owners[:, targets] = owners
        slots, beams = owners
        self._table[slots, beams] = targets
        moved = self._table[slots]
        is_beam = np.arange(moved.shape[1]) < self._sizes[slots, None]
        self._table[slots] = np.where(is_beam, moved, moved[:, :1])

    def _move_slots(self, moves: _Moves) -> None:
        if not moves:
            return
        targets, sources = np.array(moves).T
        self._table[targets] = self._table[sources]
        self._sizes[targets] = self._sizes[sources]
        for target, source in moves:
            handle = self.handles[source]
            self.handles[target] = handle
            self._slots[handle] = target
        rows = self._table[targets]
        self._owners[0, rows] = targets[:, None]

    def _grow(self, num_slots: int, num_rows: int, width: int) -> None:
        if width > self._table.shape[1]:
            missing = width - self._table.shape[1]
            padding = np.repeat(self._table[:, :1], missing, axis=1)
            self._table = np.concatenate([self._table, padding], axis=1)
        if num_slots > len(self._sizes):
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        while num_rows > self._owners.shape[1]:
            self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)], axis=1)


class _FullView(BatchView):
    """All slots; every row's place is its number."""

    def __init__(self, sizes: _Array, table: _Array, owners: _Array) -> None:
        super().__init__(range(len(sizes)), ())
        self._sizes, self._full_table, self._row_owners = sizes, table, owners

    @property
    def columns(self) -> Columns:
        slots, beams = self._row_owners
        members, rows = np.arange(len(self._sizes)), np.arange(len(slots))
        return Columns(self._full_table, slots, beams, members, rows)

    @cached_property
    def rows(self) -> list[int]:
        return list(range(self._row_owners.shape[1]))

    @cached_property
    def groups(self) -> Sequence[list[int]]:
        pairs = zip(self._full_table, self._sizes, strict=True)
        return [rows[:size].tolist() for rows, size in pairs]


def _fill_holes(freed: Sequence[int], num_before: int) -> _Moves:
    """(target, source) moves of the last entries into freed places below the new count."""
    count = num_before - len(freed)
    gone = set(freed)
    holes = sorted(place for place in freed if place < count)
    tail = [place for place in range(count, num_before) if place not in gone]
    return list(zip(holes, tail, strict=True))
