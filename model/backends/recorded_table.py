"""The table of a recorded step, in one piece of device memory that one copy fills."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from model.backends.recorded_shapes import RecordedShape
from model.decoding.network_interface import BatchRows, RowTable
from model.decoding.transfer import to_device


class RecordedTable:
    """A `RowTable` of a recorded shape; its memory stays where it is.

    Places beyond those of a batch name the first row of the first slot, which is harmless: what
    they read is not used, and they write to rows and slots that are free.
    """

    def __init__(self, shape: RecordedShape, device: torch.device) -> None:
        self._shape = shape
        parts = (shape.n_slots * shape.width, shape.n_rows, shape.n_rows, shape.n_drawn)
        *self._starts, self._size = itertools.accumulate(parts, initial=0)
        self._memory = torch.zeros(self._size, dtype=torch.int64, device=device)
        by_slot, slots, beams, drawn = (
            self._memory[start : start + size]
            for start, size in zip(self._starts, parts, strict=True)
        )
        self.table = RowTable(
            by_slot=by_slot.view(shape.n_slots, shape.width),
            slots=slots,
            beams=beams,
            members=torch.arange(shape.n_slots, device=device),
            rows=torch.arange(shape.n_rows, device=device),
            drawn=drawn,
        )
        self._loaded: BatchRows | None = None

    def load(self, batch: BatchRows) -> None:
        """Fill the table with that of a batch, unless it is there already."""
        if batch is self._loaded:
            return
        self._loaded = batch
        columns, drawn = batch.columns, batch.drawn
        numbers = np.zeros(self._size, dtype=np.int64)
        n_slots, width = columns.by_slot.shape
        by_slot = numbers[: self._shape.n_slots * self._shape.width]
        by_slot = by_slot.reshape(self._shape.n_slots, self._shape.width)
        by_slot[:n_slots, :width] = columns.by_slot
        by_slot[:n_slots, width:] = columns.by_slot[:, :1]
        for start, column in zip(self._starts[1:3], (columns.slots, columns.beams), strict=True):
            numbers[start : start + column.size] = column
        if drawn:  # padding must name a row that samples
            start = self._starts[-1]
            numbers[start : start + self._shape.n_drawn] = drawn[0]
            numbers[start : start + len(drawn)] = drawn
        self._memory.copy_(to_device(numbers, self._memory.device))
