"""Host bookkeeping of slots and rows, against random arrivals and departures."""

from __future__ import annotations

import random

import pytest

from model.decoding.slot_allocator import FixedLayout, Layout, Moves, PackedLayout


def check(layout: Layout, widths: dict[int, int]) -> None:
    """Every running sentence has its own slot and rows."""
    assert (layout.num_slots, layout.num_rows) == (len(widths), sum(widths.values()))
    assert sorted(layout.handles) == sorted(widths)
    part = layout.part(layout.handles)
    assert list(part.slots) == [layout.slot(handle) for handle in layout.handles]
    assert [len(rows) for rows in part.groups] == [widths[handle] for handle in layout.handles]
    assert len(set(part.slots)) == len(widths)
    assert len({row for rows in part.groups for row in rows}) == layout.num_rows
    for slot, rows, places in zip(part.slots, part.groups, part.table, strict=True):
        beams = range(len(rows))
        assert [part.rows[place] for place in places[: len(rows)]] == rows
        assert [part.owners[place] for place in places[: len(rows)]] == [(slot, k) for k in beams]


@pytest.mark.parametrize("seed", range(20))
def test_live_slots_and_rows_stay_contiguous_and_moves_carry_each_rows_content(seed: int) -> None:
    """Mirror every move on lists of contents: each sentence must find its own again."""
    rng = random.Random(seed)
    layout = PackedLayout()
    row_content: dict[int, tuple[int, int]] = {}
    slot_content: dict[int, int] = {}
    widths: dict[int, int] = {}
    for handle in range(60):
        widths[handle] = rng.randint(1, 5)
        slot = layout.add(handle, widths[handle])
        slot_content[slot] = handle
        for beam, row in enumerate(layout.rows[slot]):
            row_content[row] = (handle, beam)
        while rng.random() < 0.45 and widths:
            gone = rng.choice(sorted(widths))
            del widths[gone]
            moves = layout.remove([gone])
            for target, source in moves.rows:
                row_content[target] = row_content[source]
            for target, source in moves.slots:
                slot_content[target] = slot_content[source]
        check(layout, widths)
        for slot, owner in enumerate(layout.handles):
            assert (slot_content[slot], layout.slot(owner)) == (owner, slot)
            contents = [row_content[row] for row in layout.rows[slot]]
            assert contents == [(owner, beam) for beam in range(widths[owner])]
        assert layout.part(layout.handles).rows == list(range(layout.num_rows))


@pytest.mark.parametrize("seed", range(20))
def test_where_nobody_moves_slots_and_rows_are_used_again(seed: int) -> None:
    """Never more of them than are taken at once."""
    rng = random.Random(seed)
    layout = FixedLayout()
    widths: dict[int, int] = {}
    places: dict[int, tuple[int, list[int]]] = {}
    most_slots = most_rows = 0
    for handle in range(60):
        widths[handle] = rng.randint(1, 5)
        slot = layout.add(handle, widths[handle])
        places[handle] = (slot, list(layout.part([handle]).rows))
        most_slots, most_rows = max(most_slots, len(widths)), max(most_rows, sum(widths.values()))
        assert slot < most_slots
        assert max(places[handle][1]) < most_rows
        while rng.random() < 0.45 and widths:
            gone = rng.choice(sorted(widths))
            del widths[gone]
            assert layout.remove([gone]) == Moves([], [])
        check(layout, widths)
        for owner in widths:
            assert (layout.slot(owner), layout.part([owner]).rows) == places[owner]


def test_the_table_fills_narrow_beams_with_their_own_rows() -> None:
    layout = PackedLayout()
    layout.add(0, 3)
    layout.add(1, 1)
    assert layout.part([0, 1]).table == [[0, 1, 2], [3, 3, 3]]


def test_a_part_numbers_its_rows_one_after_the_other() -> None:
    layout = FixedLayout()
    for handle, beam_size in enumerate((2, 1, 3)):
        layout.add(handle, beam_size)
    part = layout.part([2, 0])
    assert part.rows == [3, 4, 5, 0, 1]
    assert part.owners == [(2, 0), (2, 1), (2, 2), (0, 0), (0, 1)]
    assert part.table == [[0, 1, 2], [3, 4, 3]]


@pytest.mark.parametrize("layout", [FixedLayout(), PackedLayout()])
def test_removing_an_unknown_handle_is_an_error(layout: Layout) -> None:
    with pytest.raises(KeyError):
        layout.remove([5])
