"""Calls that break in a way that nobody foresaw."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from service.translation.dispatcher import Dispatcher
from service.translation.translator import Pieces


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


def break_stream(monkeypatch: pytest.MonkeyPatch, error: Exception, *, at_end: bool) -> None:
    """The first stream's pieces end with the error, or leaving it does."""
    real, is_first = Dispatcher.stream, [True]

    @contextlib.asynccontextmanager
    async def stream(self: Dispatcher, job: Any) -> AsyncGenerator[Pieces]:
        was_first, is_first[0] = is_first[0], False
        async with real(self, job) as pieces:
            if was_first and not at_end:
                yield failing(pieces)
            else:
                yield pieces
        if was_first and at_end:
            raise error

    async def failing(pieces: Pieces) -> Pieces:
        yield await anext(pieces)
        raise error

    monkeypatch.setattr(Dispatcher, "stream", stream)
