"""Gives freed memory back to the system.

glibc keeps the pages of freed memory that lie between pieces in use: after 200 half-sent bodies of
a megabyte the server kept 100 MB that nothing used. To give them back takes 7 ms, to find that
there are none 0.6 ms, both without Python's lock.
"""

from __future__ import annotations

import ctypes

_KEPT_BYTES = 16 * 2**20  # at the top of the heap, for what comes next


def trim_memory() -> None:
    """Does nothing where the C library is not glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(_KEPT_BYTES))
