"""Lets the event loop run first when threads wait for a core."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

NICENESS = 5
"""A third of the weight: the fair share of a core goes to the event loop first."""


def lower_own_priority() -> None:
    """Make the calling thread `NICENESS` nicer than it is.

    Only Linux has a niceness for each thread; elsewhere, or if the system refuses, nothing changes.
    Threads that it starts inherit it.
    """
    if sys.platform != "linux":
        return
    own = threading.get_native_id()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + NICENESS)
