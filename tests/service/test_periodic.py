"""An action that fails is repeated."""

from __future__ import annotations

import logging

import pytest

from service.periodic import repeated
from tests.service.fakes import eventually


async def test_an_action_that_fails_is_logged_and_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As when the system gives no thread for it."""
    num_calls = 0

    async def fail_at_first() -> None:
        nonlocal num_calls
        num_calls += 1
        if num_calls == 1:
            raise RuntimeError("can't start new thread")

    async with repeated(fail_at_first, 0.001):
        await eventually(lambda: num_calls > 2)
        num_inside = num_calls
    assert num_calls > num_inside
    failures = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(failures) == 1
