"""The work on texts: short work runs at once, long work in a thread."""

from __future__ import annotations

import threading

from service.translation.text_work import text_work


async def test_short_work_runs_at_once_and_long_work_in_another_thread() -> None:
    own = threading.get_ident()
    assert await text_work(20, threading.get_ident) == own
    assert await text_work(5_000, threading.get_ident) != own
