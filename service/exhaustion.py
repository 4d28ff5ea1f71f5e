"""Failures of the machine that may pass: it has no room, or another process has what is needed."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

EXHAUSTED = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS)
"""What the system says when the machine has no room."""
_SQLITE_PRIMARY, _SQLITE_BUSY = 0xFF, (5, 6)
"""The primary part of an error code; SQLITE_BUSY and SQLITE_LOCKED."""


def may_pass(failure: BaseException | None) -> bool:
    """Whether the machine is full, or another process has what is needed: it, or what caused it."""
    while failure is not None:
        if isinstance(failure, Exception) and is_exhaustion(failure):
            return True
        if isinstance(failure, OSError) and failure.errno == errno.EADDRINUSE:
            return True
        if getattr(failure, "sqlite_errorcode", 0) & _SQLITE_PRIMARY in _SQLITE_BUSY:
            return True
        failure = failure.__cause__
    return False


async def in_thread_or_here(action: Callable[[], object]) -> None:
    """Do what must be done, and may be done twice: in a thread, or here if the system has none."""
    try:
        await asyncio.to_thread(action)
    except RuntimeError:
        action()


def is_exhaustion(failure: Exception) -> bool:
    """Whether the machine has no room. Python raises a plain RuntimeError if it gets no thread."""
    if isinstance(failure, OSError):
        return failure.errno in EXHAUSTED
    return isinstance(failure, MemoryError) or "can't start new thread" in str(failure)
