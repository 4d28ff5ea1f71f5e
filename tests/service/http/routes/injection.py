"""Calls that break in a way that nobody foresaw."""

from __future__ import annotations

from typing import Any

import pytest


def break_once(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, error: Exception, after: int = 0
) -> None:
    """The call fails one time, after that many that go well."""
    real, left = getattr(owner, name), [after]

    def call(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, call)
