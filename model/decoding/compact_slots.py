"""Slots and rows without holes, for devices whose steps take all of them.

What a step needs is kept in arrays that change with each sentence, so that preparing a step costs
the same for one slot or a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model.decoding.slot_allocator import NO_MOVES, BatchView, Columns, Compaction

_Array = NDArray[np.int64]
_Moves = list[tuple[int, int]]
_FREE = -1


class CompactSlotAllocator:
    """Keeps live slots at 0..N-1 and live rows at 0..R-1 when a step begins. New sentences take
    freed places; `compact` fills those that are left with the last slots and rows.

    Where steps are padded, freed places are padding: they stay until fewer would be computed
    without them."""

    def __init__(self, *, is_padded: bool = False) -> None:
        """`is_padded`: steps compute as many slots and rows as the next power of two."""
        self._is_padded = is_padded
        self.num_slots = 0
        self.num_rows = 0
        self._handles: list[int] = []
        """By slot; `_FREE` for a freed one."""
        self._slots: dict[int, int] = {}
        self._free_slots: list[int] = []
        self._free_rows: list[int] = []
        """Freed places that are to be filled, in falling order."""
        self._sizes = np.zeros(8, dtype=np.int64)
        self._table = np.zeros((8, 4), dtype=np.int64)
        """The rows of each slot, padded with its first."""
        self._owners = np.zeros((2, 16), dtype=np.int64)
        """The slots of rows, and their beams."""

    @property
    def handles(self) -> list[int]:
        """By slot, with -1 for a freed one."""
        return self._handles.copy()

    def slot(self, handle: int) -> int:
        return self._slots[handle]

    def first_row(self, handle: int) -> int:
        return int(self._table[self._slots[handle], 0])

    def rows(self, handle: int) -> list[int]:
        slot = self._slots[handle]
        rows: list[int] = self._table[slot, : self._sizes[slot]].tolist()
        return rows

    def view(self, handles: Sequence[int]) -> BatchView:
        """Every row's place is its number. A freed slot has the row 0, a freed row the slot 0.
        Raises ValueError for a subset, or before `compact`."""
        if len(handles) < self.num_slots:
            raise ValueError("on this device a step is of all running sentences")
        if not self._is_dense:
            raise ValueError("freed places must be filled before a step")
        sizes = self._sizes[: len(self._handles)].copy()
        width = int(sizes.max(initial=0))
        table = self._table[: len(sizes), :width].copy()
        return _FullView(sizes, table, self._owners[:, : self._num_rows_with_freed].copy())

    def add(self, handle: int, beam_size: int) -> int:
        rows = [self._free_rows.pop() for _ in range(min(beam_size, len(self._free_rows)))]
        first = self.num_rows + len(self._free_rows) + len(rows)
        rows += range(first, first + beam_size - len(rows))
        slot = self._free_slots.pop() if self._free_slots else len(self._handles)
        self._grow(slot + 1, rows[-1] + 1, beam_size)
        self._handles[slot : slot + 1] = [handle]
        self._slots[handle] = slot
        self.num_slots += 1
        self.num_rows += beam_size
        self._sizes[slot] = beam_size
        self._table[slot] = rows[0]
        slots, beams = self._owners
        for beam, row in enumerate(rows):  # faster than arrays for beams as narrow as they are
            self._table[slot, beam] = row
            slots[row], beams[row] = slot, beam
        return slot

    def remove(self, handles: Sequence[int]) -> None:
        slots = [self._slots.pop(handle) for handle in handles]
        num_free = len(self._free_rows)
        for slot in slots:
            self._handles[slot] = _FREE
            self._free_rows += self._table[slot, : self._sizes[slot]].tolist()
        self._sizes[slots] = self._table[slots] = 0
        self._owners[:, self._free_rows[num_free:]] = 0
        self._free_slots += slots
        self._free_slots.sort(reverse=True)
        self.num_slots -= len(slots)
        self.num_rows -= len(self._free_rows) - num_free
        self._free_rows.sort(reverse=True)

    def compact(self) -> Compaction:
        """The last rows and slots fill the freed places."""
        if self._is_dense:
            return NO_MOVES
        row_moves = _fill_holes(self._free_rows, self._num_rows_with_freed)
        self._move_rows(row_moves)
        slot_moves = _fill_holes(self._free_slots, len(self._handles))
        self._move_slots(slot_moves)
        del self._handles[self.num_slots :]
        self._free_slots, self._free_rows = [], []
        return Compaction(row_moves, slot_moves)

    @property
    def _num_rows_with_freed(self) -> int:
        return self.num_rows + len(self._free_rows)

    @property
    def _is_dense(self) -> bool:
        """Whether a step computes no more than it must."""
        if not self._is_padded:
            return not self._free_slots and not self._free_rows
        slots, rows = len(self._handles), self._num_rows_with_freed
        return _padded(slots) == _padded(self.num_slots) and _padded(rows) == _padded(self.num_rows)

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
            handle = self._handles[source]
            self._handles[target] = handle
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


def _padded(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _fill_holes(freed: Sequence[int], num_before: int) -> _Moves:
    """(target, source) moves of the last entries into freed places below the new count."""
    count = num_before - len(freed)
    gone = set(freed)
    holes = sorted(place for place in freed if place < count)
    tail = [place for place in range(count, num_before) if place not in gone]
    return list(zip(holes, tail, strict=True))
