"""The clock of these tests."""

from __future__ import annotations

import time

import pytest

_MINUTE = 60.0


@pytest.fixture(autouse=True)
def _new_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute begins with each test: at its end the windows of limits admit one request more."""
    now = time.time
    ahead = _MINUTE - now() % _MINUTE
    monkeypatch.setattr(time, "time", lambda: now() + ahead)
