"""The batch loop on a simulated runner: what is set aside, and where rows are nearly free."""

from __future__ import annotations

import pytest

from model.decoding.step_cost import StepCost
from tests.service.engine.simulation import MEASURED, Arrival, Policy, Simulation

GPU = StepCost(2e-3, 1e-6, 0.0, 3e-3, 1e-6)
"""A step costs nearly the same for one row and for hundreds."""
DOCUMENT = Arrival(0.0, [20] * 200, [20] * 200)


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


def test_where_rows_are_nearly_free_each_step_takes_all_that_fit() -> None:
    simulation = Simulation(Policy(max_slots=64), GPU)
    simulation.runner.can_step_subset = False
    loop = simulation.batch_loop
    simulation.add(DOCUMENT)
    loop.step(1)
    for _ in range(10):
        loop.step(1)
        assert (loop.num_running, loop.num_set_aside) == (64, 0)
    simulation.serve([])


def test_where_rows_are_nearly_free_short_work_gets_the_next_slot() -> None:
    """A full runner, and more paragraphs that wait; their sentences end one after another."""
    paragraphs = [Arrival(0.0, [20] * 8, [10 + i % 20] * 8) for i in range(60)]
    shorts = [Arrival(0.01 + 0.02 * i, [5], [5]) for i in range(10)]

    def slowest(policy: Policy) -> float:
        simulation = Simulation(policy, GPU)
        simulation.runner.can_step_subset = False
        return max(one.slowdown for one in simulation.serve([*paragraphs, *shorts])[-10:])

    assert slowest(Policy(max_slots=64)) < 4
    assert slowest(Policy(is_preemptive=False, max_slots=64)) > 6


def test_short_work_that_comes_during_an_encoding_goes_before_the_batch() -> None:
    simulation = Simulation(Policy(max_slots=64))
    loop, runner = simulation.batch_loop, simulation.runner
    for _ in range(30):
        simulation.add(Arrival(0.0, [25] * 4, [28] * 4))
    while loop.num_rows < 64:
        loop.step(1)
    encoded_only(simulation)
    simulation.add(Arrival(0.0, [5], [5]))
    began, num_steps = runner.now, runner.num_steps
    loop.step(1)
    assert runner.num_steps == num_steps + 1
    assert runner.now - began == pytest.approx(MEASURED.of_encoding(5) + MEASURED.of_step(4, 0))
    simulation.serve([])


def test_a_batch_comes_after_each_encoding() -> None:
    simulation = Simulation(Policy(max_slots=64))
    simulation.add(DOCUMENT)
    for _ in range(5):
        num_steps = encoded_only(simulation)
        simulation.batch_loop.step(1)
        assert simulation.runner.num_steps == num_steps + 1
    simulation.serve([])


def test_all_that_ran_may_leave_between_an_encoding_and_its_batch() -> None:
    """Clients that leave must not make the loop believe that the runner has no room."""
    simulation = Simulation(Policy(max_slots=64))
    loop = simulation.batch_loop
    request = simulation.add(DOCUMENT)
    encoded_only(simulation)
    simulation.add(DOCUMENT)
    loop.cancel(request, request.tasks)
    loop.step(1)
    assert loop.num_running > 0
    simulation.serve([])


def encoded_only(simulation: Simulation) -> int:
    """Run the loop until it encodes without a step -> the steps until then."""
    while True:
        num_steps = simulation.runner.num_steps
        simulation.batch_loop.step(1)
        if simulation.runner.num_steps == num_steps:
            return num_steps
