"""A time limit for one mutation, so that a hang is a failure."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

MOST_SECONDS = 60


class Hang(BaseException):
    """Not an Exception: nothing on the way may take it for one of its own."""


@contextlib.contextmanager
def time_limit(seconds: int = MOST_SECONDS) -> Iterator[None]:
    """Raise Hang in the main thread when the time is over."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"not done within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
