"""Slots and rows of devices whose steps take all of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from model.decoding.compact_slots import CompactSlotAllocator


def padded(count: int) -> int:
    return 1 << (count - 1).bit_length()


class Device:
    """What the copies of compactions do to the rows and slots of a device."""

    def __init__(self, allocator: CompactSlotAllocator) -> None:
        self.allocator = allocator
        self.slots: dict[int, int] = {}
        self.rows: dict[int, tuple[int, int]] = {}
        self.num_moves = 0

    def add(self, handle: int, beam_size: int) -> None:
        self.slots[self.allocator.add(handle, beam_size)] = handle
        rows = self.allocator.rows(handle)
        self.rows |= {row: (handle, beam) for beam, row in enumerate(rows)}

    def compact(self) -> None:
        moves = self.allocator.compact()
        self.slots |= {target: self.slots[source] for target, source in moves.slots}
        self.rows |= {target: self.rows[source] for target, source in moves.rows}
        self.num_moves += len(moves.slots) + len(moves.rows)


@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_finds_each_sentence_and_computes_no_more_than_it_must(
    is_padded: bool, seed: int
) -> None:
    """Freed places name no other slot and row than 0. Newcomers may take a part of what others
    left before a step."""
    rng = random.Random(seed)
    allocator = CompactSlotAllocator(is_padded=is_padded)
    device, beams = Device(allocator), dict[int, int]()
    for handle in range(600):
        beams[handle] = rng.choice([1, 1, 4, 8])
        device.add(handle, beams[handle])
        if rng.random() < 0.5:
            gone = rng.sample(list(beams), min(len(beams) - 1, rng.randint(0, 5)))
            allocator.remove(gone)
            for one in gone:
                del beams[one]
        if rng.random() < 0.5:
            continue
        device.compact()
        handles = allocator.handles
        view = allocator.view(handles)
        by_slot, slots, row_beams, members, rows = view.columns
        size = padded if is_padded else int
        assert size(len(members)) == size(len(beams))
        assert size(len(rows)) == size(sum(beams.values()))
        assert [one for one in handles if one >= 0] == [
            device.slots[slot] for slot in members if handles[slot] >= 0
        ]
        assert sorted(one for one in handles if one >= 0) == sorted(beams)
        for one, beam_size in beams.items():
            slot, own = allocator.slot(one), allocator.rows(one)
            assert (handles[slot], allocator.first_row(one)) == (one, own[0])
            assert [device.rows[row] for row in own] == [(one, k) for k in range(beam_size)]
            assert by_slot[slot, :beam_size].tolist() == own
            assert set(by_slot[slot, beam_size:].tolist()) <= {own[0]}
            assert np.array_equal(slots[own], [slot] * beam_size)
            assert row_beams[own].tolist() == list(range(beam_size))
            assert view.groups[slot] == own
        owned = [row for group in view.groups for row in group]
        assert view.rows == rows.tolist()
        assert not by_slot[[one < 0 for one in handles]].any()
        assert not np.delete([slots, row_beams], owned, axis=1).any()


def test_a_step_of_a_part_or_over_freed_places_is_refused() -> None:
    allocator = CompactSlotAllocator()
    for handle in range(4):
        allocator.add(handle, 2)
    with pytest.raises(ValueError, match="all running sentences"):
        allocator.view([0, 1, 2])
    allocator.remove([1])
    allocator.add(4, 1)
    with pytest.raises(ValueError, match="must be filled"):
        allocator.view(allocator.handles)


def test_what_is_padded_anyway_stays_where_it_is() -> None:
    allocator = CompactSlotAllocator(is_padded=True)
    device = Device(allocator)
    for handle in range(40):
        device.add(handle, 1)
    for gone, coming in zip(range(7), range(40, 47), strict=True):
        allocator.remove([gone])
        device.compact()
        device.add(coming, 1)
        device.compact()
    assert device.num_moves == 0
    allocator.remove(allocator.handles[:8])
    device.compact()
    assert len(allocator.view(allocator.handles).slots) == 32
    assert device.num_moves == 16
