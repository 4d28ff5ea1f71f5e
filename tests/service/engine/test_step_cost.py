"""What steps cost: fitted to what was observed, and steady under surprises."""

from __future__ import annotations

import random

import pytest

from model.decoding.step_cost import StepCost
from service.engine.step_cost import StepCostEstimate

FIRST = StepCost(30e-6, 13e-6, 0.1e-6, 300e-6, 15e-6)


def observe(estimate: StepCostEstimate, true: StepCost, count: int, noise: float = 0.0) -> None:
    rng = random.Random(0)
    for _ in range(count):
        num_rows, length, num_tokens = rng.randint(1, 120), rng.randint(0, 40), rng.randint(3, 100)
        seconds = true.of_step(num_rows, num_rows * length)
        estimate.observe_step(num_rows, num_rows * length, seconds * (1 + noise * rng.random()))
        estimate.observe_encoding(num_tokens, true.of_encoding(num_tokens))


def test_the_first_measurement_holds_until_there_are_others() -> None:
    estimate = StepCostEstimate(FIRST)
    assert estimate.current == FIRST
    observe(estimate, FIRST, 100)
    assert vars(estimate.current) == pytest.approx(vars(FIRST), rel=1e-3)


def test_costs_follow_what_is_observed() -> None:
    """The host's work adds to the fixed cost, and a busy neighbour to all."""
    true = StepCost(150e-6, 26e-6, 0.2e-6, 600e-6, 30e-6)
    estimate = StepCostEstimate(FIRST)
    observe(estimate, true, 2000, noise=0.1)
    found = estimate.current
    for num_rows in (4, 16, 64, 120):
        expected = true.of_step(num_rows, 20 * num_rows)
        assert found.of_step(num_rows, 20 * num_rows) == pytest.approx(expected, rel=0.2)
    assert found.of_encoding(20) == pytest.approx(true.of_encoding(20), rel=0.2)


def test_steps_of_one_size_leave_no_coefficient_undetermined() -> None:
    estimate = StepCostEstimate(FIRST)
    for _ in range(5000):
        estimate.observe_step(80, 800, 3 * FIRST.of_step(80, 800))
    found = estimate.current
    assert found.of_step(80, 800) == pytest.approx(3 * FIRST.of_step(80, 800), rel=0.2)
    assert all(value > 0 for value in vars(found).values())


def test_one_step_that_was_interrupted_for_a_second_changes_little() -> None:
    estimate = StepCostEstimate(FIRST)
    observe(estimate, FIRST, 160)
    estimate.observe_step(4, 40, 1.0)
    observe(estimate, FIRST, 15)
    assert estimate.current.fixed == pytest.approx(FIRST.fixed, rel=0.3)


def test_a_clock_that_stands_still_does_no_harm() -> None:
    estimate = StepCostEstimate(FIRST)
    for _ in range(100):
        estimate.observe_step(4, 40, 0.0)
        estimate.observe_encoding(10, 0.0)
    assert all(value > 0 for value in vars(estimate.current).values())
