"""Runs detecting, cutting, tokenising and joining off the event loop.

Work on a short text runs at once, because handing it to a thread costs more than the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from service.errors import Overloaded

_Result = TypeVar("_Result")
_MAX_INLINE_COST = 200
_COST_OF_TEXT = 25
"""Detecting or cutting any text costs as much as this many of its characters."""
_MAX_PENDING_COST = 4_000_000


def cost_of(num_texts: int, num_characters: int) -> int:
    """The cost of work on texts, in characters, of which one takes at most about 10 us."""
    return num_characters + _COST_OF_TEXT * num_texts


class TextPool:
    """A few threads. New requests are refused while too much work waits for them."""

    def __init__(self, num_threads: int = 2) -> None:
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="dragoman-text")
        self._pending_cost = 0

    def require_room(self, cost: int) -> None:
        """Raise Overloaded if work of this cost would wait for a thread and too much waits already.

        Asked once, before a request begins: its later work is never refused.
        """
        if cost > _MAX_INLINE_COST and self._pending_cost > _MAX_PENDING_COST:
            raise Overloaded("too many long texts are being read; try again later")

    async def run(self, cost: int, work: Callable[[], _Result]) -> _Result:
        """The result of `work`, which may raise.

        If the caller is cancelled, work that has begun still runs to its end.
        """
        if cost <= _MAX_INLINE_COST:
            return work()
        self._pending_cost += cost
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self._pending_cost -= cost

    def close(self) -> None:
        """Drop waiting work and end the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)
