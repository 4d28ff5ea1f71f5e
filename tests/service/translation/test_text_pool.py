"""The threads that read texts: short work runs at once, and what was begun is never refused."""

from __future__ import annotations

import asyncio
import threading

import pytest

from service.errors import Overloaded
from service.translation.text_pool import TextPool, cost_of

LONG = cost_of(1, 5_000_000)


def test_a_full_pool_refuses_new_long_work_and_finishes_what_was_begun() -> None:
    async def scene() -> None:
        pool, gate = TextPool(num_threads=1), threading.Event()
        pool.require_room(LONG)
        begun = asyncio.ensure_future(pool.run(LONG, gate.wait))
        await asyncio.sleep(0)
        pool.require_room(cost_of(1, 20))
        with pytest.raises(Overloaded, match="too many long texts"):
            pool.require_room(LONG)
        later = asyncio.ensure_future(pool.run(LONG, lambda: "assembled"))
        await asyncio.sleep(0)
        gate.set()
        assert await begun
        assert await later == "assembled"
        pool.require_room(LONG)
        pool.close()

    asyncio.run(scene())


def test_short_work_runs_at_once_and_long_work_in_another_thread() -> None:
    async def scene() -> None:
        pool = TextPool()
        own = threading.get_ident()
        assert await pool.run(cost_of(1, 20), threading.get_ident) == own
        assert await pool.run(LONG, threading.get_ident) != own
        pool.close()

    asyncio.run(scene())
