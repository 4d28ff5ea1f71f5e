"""How many cores a process computes with."""

from __future__ import annotations

import os

import pytest

from model.backends.cores import num_cores


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert num_cores() == 5


@pytest.mark.parametrize("value", ["", "0", "many"])
def test_else_there_are_as_many_as_the_process_may_run_on(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert 1 <= num_cores() <= len(os.sched_getaffinity(0))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
