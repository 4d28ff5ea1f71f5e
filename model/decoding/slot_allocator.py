"""Assign slots and rows to sentences: host bookkeeping, no tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Compaction(NamedTuple):
    """Copies that fill the places of sentences that left: (target, source) of rows and of slots. No
    source is also a target."""

    rows: list[tuple[int, int]]
    slots: list[tuple[int, int]]


NO_MOVES = Compaction([], [])


class Columns(NamedTuple):
    """The numbers of a `model.backends.pytorch.rows.RowTable`: by_slot (N, K), slots and beams
    (R,), members (N,) and rows (R,)."""

    by_slot: NDArray[np.int64]
    slots: NDArray[np.int64]
    beams: NDArray[np.int64]
    members: NDArray[np.int64]
    rows: NDArray[np.int64]


class BatchView:
    """A selection of slots and their rows. A row's place is its index among all of them."""

    def __init__(self, slots: Sequence[int], groups: Sequence[list[int]]) -> None:
        """`groups`: the rows of each slot."""
        self.slots = slots
        self._groups = groups

    @property
    def groups(self) -> Sequence[list[int]]:
        """The rows of each slot."""
        return self._groups

    @cached_property
    def rows(self) -> list[int]:
        """All rows, in order of place."""
        return list(itertools.chain.from_iterable(self.groups))

    @property
    def columns(self) -> Columns:
        sizes = np.array([len(rows) for rows in self.groups], dtype=np.int64)
        members, rows = (np.array(numbers, dtype=np.int64) for numbers in (self.slots, self.rows))
        starts = sizes.cumsum() - sizes
        beams = np.arange(sizes.max(initial=0))
        by_slot = starts[:, None] + np.where(beams < sizes[:, None], beams, 0)
        owned_beams = np.arange(len(rows)) - np.repeat(starts, sizes)
        return Columns(by_slot, np.repeat(members, sizes), owned_beams, members, rows)


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

    def rows(self, handle: int) -> list[int]:
        """The rows of a sentence."""

    def add(self, handle: int, beam_size: int) -> int:
        """Assign a slot and `beam_size` rows -> the slot."""

    def remove(self, handles: Sequence[int]) -> None:
        """Free the slots and rows of sentences."""

    def compact(self) -> Compaction:
        """Prepare a step -> the copies that it needs first."""


class FixedSlotAllocator:
    """Sentences never move: a new sentence takes the slot and rows freed last."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._groups: list[list[int]] = []
        self._free_slots: list[int] = []
        self._free_rows: list[int] = []
        self._num_rows_ever = 0
        self.num_rows = 0

    @property
    def handles(self) -> list[int]:
        return list(self._slots)

    @property
    def num_slots(self) -> int:
        return len(self._slots)

    def slot(self, handle: int) -> int:
        return self._slots[handle]

    def first_row(self, handle: int) -> int:
        return self._groups[self._slots[handle]][0]

    def rows(self, handle: int) -> list[int]:
        return self._groups[self._slots[handle]]

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
        self.num_rows += beam_size
        return slot

    def remove(self, handles: Sequence[int]) -> None:
        for handle in handles:
            slot = self._slots.pop(handle)
            self._free_slots.append(slot)
            self._free_rows += self._groups[slot]
            self.num_rows -= len(self._groups[slot])

    def compact(self) -> Compaction:
        return NO_MOVES
