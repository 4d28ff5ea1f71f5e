from __future__ import annotations

import pytest

from service.engine.step_times import StepTimes
from service.observability.metrics import Metrics
from tests.service.conftest import MakeRequest


def total(metrics: Metrics, name: str) -> tuple[float, float]:
    """How many observations a histogram has, and their sum."""
    values = [
        metrics.registry.get_sample_value(f"dragoman_{name}_{part}", labels={"model": "fake"})
        for part in ("count", "sum")
    ]
    return values[0] or 0.0, values[1] or 0.0


def test_a_step_observes_the_longest_wait_of_those_that_take_part(
    request_of: MakeRequest,
) -> None:
    metrics = Metrics()
    times = StepTimes(metrics.of_model("fake"))
    first, second = request_of(1, 1).tasks
    times.enter([first, second])
    times.observe_step([first, second], 1.0, 1.5)
    times.observe_step([first], 1.5, 2.0)
    times.observe_step([first, second], 2.0, 2.5)
    assert total(metrics, "inter_token_seconds") == (2, pytest.approx(0.5 + 1.0))
    assert total(metrics, "decode_step_seconds") == (3, pytest.approx(1.5))


def test_a_newcomer_has_its_first_token_when_a_step_takes_it(request_of: MakeRequest) -> None:
    metrics = Metrics()
    times = StepTimes(metrics.of_model("fake"))
    first, second, gone = request_of(1, 1, 1).tasks
    times.enter([first, second, gone])
    times.observe_step([first], 1.0, 2.0)
    assert total(metrics, "time_to_first_token_seconds") == (1, 2.0)
    times.leave(gone)
    times.observe_full_step(2, 2.0, 3.0)
    assert total(metrics, "time_to_first_token_seconds") == (2, 5.0)
