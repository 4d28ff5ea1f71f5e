"""The CPU cores that this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

from model.backends.control_groups import cpu_quotas

_SYSTEM = Path("/sys/devices/system/cpu")


def num_cores() -> int:
    """Threads to compute with: OMP_NUM_THREADS, or else the physical cores that the process may
    run on, at most the share of the CPU that its container has."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdecimal() and int(asked):
        return int(asked)
    cores = {_siblings(cpu) for cpu in _usable_cpus()}
    return max(1, min([len(cores), *map(math.ceil, cpu_quotas())]))


def _usable_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _siblings(cpu: int) -> str:
    """A name of the core that this CPU is a thread of."""
    try:
        return (_SYSTEM / f"cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)
