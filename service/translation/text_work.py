"""Runs the work on a request's texts: at once if they are short, else in a worker thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sized
from contextvars import ContextVar
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from service.engine.ticket import NO_TICKET, Ticket

_Result = TypeVar("_Result")
_MOST_INLINE = 500
"""Characters; handing fewer to a thread takes longer than the work."""
_NUM_THREADS = 2
"""More would compete with the event loop for Python's global lock."""
_limiter = RunVar[CapacityLimiter]("text_work")
_is_over = ContextVar[threading.Event]("is_over")
"""Of a thread's work: set when nobody waits for it."""


class Unwanted(Exception):
    """Ends work that nobody waits for."""


async def text_work(
    num_characters: int, work: Callable[[], _Result], ticket: Ticket = NO_TICKET
) -> _Result:
    """The result of `work`, which may raise; it takes time linear in the characters.

    When the ticket's deadline passes or the caller is cancelled, a thread's work ends where it next
    calls `raise_if_unwanted`. Raises DeadlineExceeded.
    """
    if num_characters <= _MOST_INLINE:
        return work()
    is_over = threading.Event()

    def run() -> _Result:
        _is_over.set(is_over)
        raise_if_unwanted()
        return work()

    try:
        async with asyncio.timeout_at(ticket.ends_seconds) as deadline:
            return await to_thread.run_sync(run, limiter=_threads())
    except TimeoutError:
        if not deadline.expired():
            raise
    finally:
        is_over.set()
    raise ticket.deadline_error()


def raise_if_unwanted() -> None:
    """Between two parts of the work on texts: raises Unwanted if nobody waits for it."""
    is_over = _is_over.get(None)
    if is_over is not None and is_over.is_set():
        raise Unwanted


def num_characters(texts: Iterable[Sized]) -> int:
    """The characters of texts, of which any has at least one."""
    return sum(len(text) + 1 for text in texts)


def _threads() -> CapacityLimiter:
    """The limiter of the running event loop."""
    if (limiter := _limiter.get(None)) is None:
        limiter = CapacityLimiter(_NUM_THREADS)
        _limiter.set(limiter)
    return limiter
