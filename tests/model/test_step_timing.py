"""Measured costs of steps are positive, and beams wider than the runner are narrowed."""

from __future__ import annotations

import pytest

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.step_timing import measure_step_cost
from tests.model.network.reference import tiny_model, tiny_runner


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize(("max_slots", "max_rows"), [(8, 64), (1, 4), (2, 2)])
def test_measured_costs_are_above_zero_and_leave_the_runner_idle(
    backend: Backend, max_slots: int, max_rows: int
) -> None:
    runner = tiny_runner(tiny_model(), backend=backend, max_slots=max_slots, max_rows=max_rows)
    cost = measure_step_cost(runner, DecodingOptions(beam_size=4, max_length=8))
    assert all(value > 0 for value in vars(cost).values())
    assert cost.fixed + 64 * cost.per_row < 1.0
    assert (runner.num_running, runner.num_free_slots) == (0, max_slots)
    assert runner.num_free_rows == max_rows
