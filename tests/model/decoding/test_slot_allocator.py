"""Host bookkeeping of slots and rows, against random arrivals and departures."""

from __future__ import annotations

import random

import pytest

from model.decoding.compact_slots import CompactSlotAllocator
from model.decoding.slot_allocator import Compaction, FixedSlotAllocator, SlotAllocator


def check(allocator: SlotAllocator, widths: dict[int, int]) -> None:
    """Every running sentence has its own slot and rows."""
    assert (allocator.num_slots, allocator.num_rows) == (len(widths), sum(widths.values()))
    assert sorted(allocator.handles) == sorted(widths)
    view = allocator.view(allocator.handles)
    assert list(view.slots) == [allocator.slot(handle) for handle in allocator.handles]
    assert [len(rows) for rows in view.groups] == [widths[handle] for handle in allocator.handles]
    assert len(set(view.slots)) == len(widths)
    assert len({row for rows in view.groups for row in rows}) == allocator.num_rows
    table, slots, beams, members, places_rows = (column.tolist() for column in view.columns)
    assert (members, places_rows) == (list(view.slots), view.rows)
    for slot, rows, places in zip(view.slots, view.groups, table, strict=True):
        own = places[: len(rows)]
        assert [view.rows[place] for place in own] == rows
        assert [(slots[p], beams[p]) for p in own] == [(slot, k) for k in range(len(rows))]
        assert set(places[len(rows) :]) <= {places[0]}


def rows_of(allocator: SlotAllocator, slot: int) -> list[int]:
    return allocator.view(allocator.handles).groups[slot]


@pytest.mark.parametrize("seed", range(20))
def test_live_slots_and_rows_stay_contiguous_and_moves_carry_each_rows_content(seed: int) -> None:
    """Mirror every move on lists of contents: each sentence must find its own again."""
    rng = random.Random(seed)
    allocator = CompactSlotAllocator()
    row_content: dict[int, tuple[int, int]] = {}
    slot_content: dict[int, int] = {}
    widths: dict[int, int] = {}
    for handle in range(60):
        width = rng.randint(1, 5)
        slot = allocator.add(handle, width)
        assert slot_content.get(slot) not in widths
        slot_content[slot] = handle
        for beam, row in enumerate(allocator.rows(handle)):
            assert row_content.get(row, (-1, 0))[0] not in widths
            row_content[row] = (handle, beam)
        widths[handle] = width
        while rng.random() < 0.45 and widths:
            gone = rng.choice(sorted(widths))
            del widths[gone]
            allocator.remove([gone])
        if rng.random() < 0.5:
            continue
        moves = allocator.compact()
        for target, source in moves.rows:
            row_content[target] = row_content.pop(source)
        for target, source in moves.slots:
            slot_content[target] = slot_content.pop(source)
        check(allocator, widths)
        for slot, owner in enumerate(allocator.handles):
            assert (slot_content[slot], allocator.slot(owner)) == (owner, slot)
            contents = [row_content[row] for row in rows_of(allocator, slot)]
            assert contents == [(owner, beam) for beam in range(widths[owner])]
        assert allocator.view(allocator.handles).rows == list(range(allocator.num_rows))


@pytest.mark.parametrize("seed", range(20))
def test_where_nobody_moves_slots_and_rows_are_used_again(seed: int) -> None:
    """Never more of them than are taken at once."""
    rng = random.Random(seed)
    allocator = FixedSlotAllocator()
    widths: dict[int, int] = {}
    places: dict[int, tuple[int, list[int]]] = {}
    most_slots = most_rows = 0
    for handle in range(60):
        widths[handle] = rng.randint(1, 5)
        slot = allocator.add(handle, widths[handle])
        places[handle] = (slot, list(allocator.view([handle]).rows))
        most_slots, most_rows = max(most_slots, len(widths)), max(most_rows, sum(widths.values()))
        assert slot < most_slots
        assert max(places[handle][1]) < most_rows
        while rng.random() < 0.45 and widths:
            gone = rng.choice(sorted(widths))
            del widths[gone]
            allocator.remove([gone])
            assert allocator.compact() == Compaction([], [])
        check(allocator, widths)
        for owner in widths:
            assert (allocator.slot(owner), allocator.view([owner]).rows) == places[owner]
