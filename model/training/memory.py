"""Let glibc keep the memory that a training step frees.

Every step allocates the same large buffers; by default each is mapped afresh and its pages are
faulted in again, which took about half of a step on two CPU cores.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_NEVER_TRIM = 2**31 - 1


def keep_freed_memory() -> None:
    """Turn off mmap for large blocks and trimming; without glibc this does nothing."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM)
