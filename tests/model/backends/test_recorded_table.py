"""The table that a recorded step reads: what a batch puts there, and what that costs the host."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from model.backends.cuda_graphs import RecordedShape, RecordedTable
from model.decoding.compact_slots import CompactSlotAllocator
from model.decoding.network_interface import BatchRows, Capacity, RowTable, StepShape
from model.decoding.slot_options import Features

CPU = torch.device("cpu")
CAPACITY = Capacity(max_slots=24, max_rows=60, max_source_tokens=32, max_target_tokens=32)
PLAIN = Features(
    has_sampling=False,
    has_guards=False,
    has_prefix=False,
    has_streams=False,
    max_ngram_size=0,
    max_term_tokens=0,
)


class CountingChanges(TorchDispatchMode):
    """Counts the operations that a device would have to run: views and allocations are free."""

    def __init__(self) -> None:
        super().__init__()
        self.num_changes = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.num_changes += function._schema.is_mutable
        return function(*args, **(kwargs or {}))


def batch_of(allocator: CompactSlotAllocator, drawn: list[int]) -> BatchRows:
    allocator.compact()
    return BatchRows(allocator.view(allocator.handles), drawn, CPU)


def shape_of(batch: BatchRows) -> RecordedShape:
    return RecordedShape.of(batch, StepShape(1, 1), PLAIN, CAPACITY)


@pytest.mark.parametrize("seed", range(10))
def test_a_table_holds_what_a_batch_needs_whatever_was_there_before(seed: int) -> None:
    rng = random.Random(seed)
    allocator = CompactSlotAllocator()
    tables: dict[RecordedShape, RecordedTable] = {}
    handles: list[int] = []
    for handle in range(60):
        beam = rng.randint(1, 5)
        if allocator.num_slots < CAPACITY.max_slots and allocator.num_rows + beam <= 60:
            allocator.add(handle, beam)
            handles.append(handle)
        while len(handles) > 1 and rng.random() < 0.4:
            allocator.remove([handles.pop(rng.randrange(len(handles)))])
        drawn = sorted(rng.sample(range(allocator.num_rows), rng.randint(0, 3) % 2))
        batch = batch_of(allocator, drawn)
        shape = shape_of(batch)
        recorded = tables.setdefault(shape, RecordedTable(shape, CPU))
        recorded.load(batch)
        check(recorded.table, batch.table, shape)


def check(ours: RowTable, given: RowTable, shape: RecordedShape) -> None:
    n_slots, n_rows = len(given.by_slot), len(given.rows)
    assert ours.by_slot.shape == (shape.n_slots, shape.width)
    assert len(ours.slots) == len(ours.beams) == len(ours.rows) == shape.n_rows
    assert ours.by_slot[:n_slots].tolist() == given.by_slot.tolist()
    assert ours.slots[:n_rows].tolist() == given.slots.tolist()
    assert ours.beams[:n_rows].tolist() == given.beams.tolist()
    for padding in (ours.by_slot[n_slots:], ours.slots[n_rows:], ours.beams[n_rows:]):
        assert not padding.any()
    drawn = given.drawn.tolist()
    assert ours.drawn.tolist() == drawn + drawn[:1] * (shape.n_drawn - len(drawn))


def test_a_batch_that_changed_costs_one_copy_and_the_same_one_none() -> None:
    allocator = CompactSlotAllocator()
    for handle in range(5):
        allocator.add(handle, 4)
    batch = batch_of(allocator, [3, 4])
    recorded = RecordedTable(shape_of(batch), CPU)
    with CountingChanges() as counted:
        recorded.load(batch)
    assert counted.num_changes == 1
    with CountingChanges() as counted:
        recorded.load(batch)
    assert counted.num_changes == 0
