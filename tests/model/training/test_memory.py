"""What training keeps of freed memory, measured in a process of its own: malloc's settings stay."""

from __future__ import annotations

import subprocess
import sys

import pytest

MIB = 2**20
FREE_BETWEEN_LIVE = """
import psutil, torch
from model.training.memory import FreedMemory

resident = lambda: psutil.Process().memory_info().rss
freed = FreedMemory(most_kept={most_kept})
freed.keep()
before = resident()
large, live = [], []
for _ in range(150):
    large.append(torch.ones(2**18))
    live.append(torch.ones(64))
del large
kept = resident()
freed.bound()
print(kept - before, resident() - before)
"""


def kept_and_left(most_kept: int) -> tuple[int, int]:
    """MiB that stay resident of 150 freed between small live blocks, before and after."""
    script = FREE_BETWEEN_LIVE.format(most_kept=most_kept * MIB)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    kept, left = (int(size) // MIB for size in run.stdout.split())
    return kept, left


def test_freed_memory_is_kept_while_the_process_has_not_grown_too_much() -> None:
    kept, left = kept_and_left(most_kept=1000)
    assert kept == pytest.approx(left, abs=5)


@pytest.mark.parametrize("most_kept", [1, 100])
def test_beyond_the_bound_it_is_given_back(most_kept: int) -> None:
    kept, left = kept_and_left(most_kept)
    assert kept > 140
    assert left < 40
