"""The work on texts: short work runs at once, long work in a thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from service.translation.text_work import text_work


def test_short_work_runs_at_once_and_long_work_in_another_thread() -> None:
    async def scene() -> None:
        own = threading.get_ident()
        assert await text_work(20, threading.get_ident) == own
        assert await text_work(5_000, threading.get_ident) != own

    asyncio.run(scene())


def test_an_error_of_the_work_reaches_the_caller() -> None:
    for num_characters in (20, 5_000):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(text_work(num_characters, lambda: 1 // 0))
