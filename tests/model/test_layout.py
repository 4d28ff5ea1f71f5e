"""Host bookkeeping of slots and rows, against random arrivals and departures."""

from __future__ import annotations

import random

import pytest

from model.layout import Layout


@pytest.mark.parametrize("seed", range(20))
def test_live_slots_and_rows_stay_contiguous_and_moves_carry_each_rows_content(seed: int) -> None:
    """Mirror every move on lists of contents: each sentence must find its own again."""
    rng = random.Random(seed)
    layout = Layout()
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
        assert layout.num_rows == sum(widths.values())
        assert sorted(layout.handles) == sorted(widths)
        for slot, owner in enumerate(layout.handles):
            assert slot_content[slot] == owner
            assert layout.slot(owner) == slot
            contents = [row_content[row] for row in layout.rows[slot]]
            assert contents == [(owner, beam) for beam in range(widths[owner])]
            assert [layout.whole().owners[row] for row in layout.rows[slot]] == [
                (slot, beam) for beam in range(widths[owner])
            ]
        assert sorted(row for rows in layout.rows for row in rows) == list(range(layout.num_rows))


def test_the_table_fills_narrow_beams_with_their_own_rows() -> None:
    layout = Layout()
    layout.add(0, 3)
    layout.add(1, 1)
    assert layout.whole().table == [[0, 1, 2], [3, 3, 3]]


def test_a_part_numbers_its_rows_one_after_the_other() -> None:
    layout = Layout()
    for handle, beam_size in enumerate((2, 1, 3)):
        layout.add(handle, beam_size)
    part = layout.part([2, 0])
    assert part.rows == [3, 4, 5, 0, 1]
    assert part.owners == [(2, 0), (2, 1), (2, 2), (0, 0), (0, 1)]
    assert part.table == [[0, 1, 2], [3, 4, 3]]


def test_removing_an_unknown_handle_is_an_error() -> None:
    with pytest.raises(KeyError):
        Layout().remove([5])
