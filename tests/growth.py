"""Compare how long work takes, so that other processes do not disturb the comparison."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def takes_less(
    long: Callable[[], object], times: int, short: Callable[[], object], least_seconds: float
) -> bool:
    """Whether `long` takes less than so many times the CPU time of `short`, in one of three tries:
    another process on the core may double a time. Without the garbage collector, which goes over
    what earlier tests left, too."""
    return any(_seconds(long) < times * max(_seconds(short), least_seconds) for _ in range(3))


def _seconds(act: Callable[[], object]) -> float:
    gc.disable()
    try:
        started = time.process_time()
        act()
        return time.process_time() - started
    finally:
        gc.enable()
