"""The batch loop on a simulated runner: what is set aside, and what a person sees of a batch."""

from __future__ import annotations

import pytest

from tests.service.engine.simulation import MEASURED, Arrival, Policy, Simulation

DOCUMENT = Arrival(0.0, [20] * 200, [10 + i % 20 for i in range(200)])


def test_what_a_step_leaves_out_is_set_aside_and_ends_all_the_same() -> None:
    simulation = Simulation(Policy(max_slots=64))
    loop, most = simulation.batch_loop, 0
    simulation.add(DOCUMENT)
    while not loop.is_idle:
        loop.step(1)
        assert 0 <= loop.num_set_aside <= loop.num_running
        most = max(most, loop.num_set_aside)
    assert most > 0
    assert loop.num_set_aside == 0
    simulation.serve([])


def test_short_work_that_comes_during_an_encoding_goes_before_the_batch() -> None:
    simulation = Simulation(Policy(max_slots=64))
    loop, runner = simulation.batch_loop, simulation.runner
    simulation.add(DOCUMENT)
    num_steps = -1
    while num_steps != runner.num_steps or loop.num_rows <= 80:  # the last was an encoding
        num_steps = runner.num_steps
        loop.step(1)
    simulation.add(Arrival(0.0, [5], [5]))
    began = runner.now
    loop.step(1)
    loop.step(1)
    assert runner.num_steps == num_steps + 1
    assert runner.now - began == pytest.approx(MEASURED.of_encoding(5) + MEASURED.of_step(4, 0))
    simulation.serve([])


def test_a_watcher_sees_who_runs_and_who_left_and_only_numbers() -> None:
    simulation = Simulation(Policy())
    loop = simulation.batch_loop
    assert loop.batch_entries(0.0) == []
    simulation.add(Arrival(0.0, [5, 6], [2, 300]))
    loop.step(1)
    joined = [(0, 4, 6, 0, 0.0, None), (1, 4, 5, 0, 0.0, None)]
    assert loop.batch_entries(0.0) == joined
    loop.step(1)
    loop.step(1)
    running, left = loop.batch_entries(0.0)
    assert running == (0, 4, 6, 2, 0.0, None)
    assert left == (1, 4, 5, 2, 0.0, simulation.runner.now)
    assert loop.batch_entries(simulation.runner.now) == [running]
    simulation.serve([])
