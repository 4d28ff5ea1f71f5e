"""Sizes by free memory, as arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.sizing import Demand, DoesNotFit, Sizes, choose_sizes, usual_sizes

AUTO = Sizes(0, 0)


def demand(wanted: Sizes, weights: int, a_row: int, *devices: str) -> Demand:
    def bytes_of(sizes: Sizes) -> Mapping[str, int]:
        share = (sizes.max_rows + sizes.max_slots // 8) * a_row // len(devices)
        return {device: weights + share for device in devices}

    return Demand(wanted, bytes_of)


@pytest.mark.parametrize(
    ("asked", "devices", "beam", "expected"),
    [
        (AUTO, ["cpu"], 4, (64, 256)),
        (AUTO, ["cpu"], 6, (64, 384)),
        (AUTO, ["cuda"], 4, (256, 1024)),
        (AUTO, ["cuda:0", "cuda:1"], 4, (512, 2048)),
        (Sizes(3, 0), ["cuda"], 4, (3, 16)),
        (Sizes(0, 100), ["cpu"], 4, (64, 100)),
    ],
)
def test_the_usual_sizes(
    asked: Sizes, devices: list[str], beam: int, expected: tuple[int, int]
) -> None:
    assert usual_sizes(asked, devices, beam, least_rows=16) == expected


def test_a_refusal_names_sizes_that_fit() -> None:
    model = demand(Sizes(256, 1024), 0, 2**22, "cpu")
    message = "4.1 GiB of memory with the weights, and 3.0 GiB are free on cpu; max_slots 128 with "
    with pytest.raises(DoesNotFit, match=message + "max_rows 512 fits"):
        choose_sizes([model], Sizes(256, 1024), 16, {"cpu": 3 * 2**30})


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.integers(1, 10**5), st.sampled_from(["cuda:0", "cuda:1"])
        ),
        min_size=1,
        max_size=4,
    ),
    st.tuples(st.integers(0, 300), st.integers(0, 300)),
    st.integers(0, 10**8),
)
def test_what_is_chosen_always_fits_and_what_is_asked_for_is_had(
    models: list[tuple[int, int, str]], asked: tuple[int, int], free: int
) -> None:
    wanted = Sizes(*asked)
    demands = [
        demand(usual_sizes(wanted, [device], 4, 16), weights, a_row, device)
        for weights, a_row, device in models
    ]
    room = {"cuda:0": free, "cuda:1": free // 2}
    try:
        chosen = choose_sizes(demands, wanted, 16, room)
    except DoesNotFit:
        return
    used = dict.fromkeys(room, 0)
    for one, sizes in zip(demands, chosen, strict=True):
        for device, num_bytes in one.bytes_of(sizes).items():
            used[device] += num_bytes
        assert all(given in (0, got) for given, got in zip(wanted, sizes, strict=True))
        assert sizes.max_slots >= 1
    assert all(used[device] <= room[device] for device in room)
