"""Whether what is asked for fits into the memory."""

from __future__ import annotations

import psutil
import pytest

from model.backends import memory as placement
from model.backends.memory import free_bytes


def test_no_more_is_free_than_the_machine_has() -> None:
    assert 0 < free_bytes("cpu") <= psutil.virtual_memory().total


def test_a_containers_bound_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "free_in_control_groups", lambda: [2**62, 2000])
    assert free_bytes("cpu") == 2000
