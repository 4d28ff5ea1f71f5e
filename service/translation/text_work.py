"""Runs the work on a request's texts: at once if they are short, else in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

_Result = TypeVar("_Result")
_MOST_INLINE = 500
"""Characters; handing fewer to a thread takes longer than the work."""
_NUM_THREADS = 2
"""More would compete with the event loop for Python's global lock."""
_limiter = RunVar[CapacityLimiter]("text_work")


async def text_work(num_characters: int, work: Callable[[], _Result]) -> _Result:
    """The result of `work`, which may raise; it takes time linear in the characters.

    If the caller is cancelled, work that has begun still runs to its end.
    """
    if num_characters <= _MOST_INLINE:
        return work()
    return await to_thread.run_sync(work, limiter=_threads())


def num_characters(texts: Iterable[str]) -> int:
    """The characters of texts, of which any has at least one."""
    return sum(len(text) + 1 for text in texts)


def _threads() -> CapacityLimiter:
    """The limiter of the running event loop."""
    if (limiter := _limiter.get(None)) is None:
        limiter = CapacityLimiter(_NUM_THREADS)
        _limiter.set(limiter)
    return limiter
