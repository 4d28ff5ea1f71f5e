"""A closed loop: each client sends its next sentence when its last one is answered."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from benchmarks.client import connected, translation_of
from benchmarks.sentences import percentile


@dataclass(frozen=True)
class Run:
    """One service with so many clients: sentences a second, and milliseconds."""

    rate: float
    p50: float
    p95: float
    p99: float


async def closed_loop(texts: list[str], clients: int, beam_size: int) -> Run:
    remaining = [translation_of(text, beam_size=beam_size) for text in texts]
    seconds = []
    async with connected() as client:

        async def work() -> None:
            while remaining:
                seconds.append((await client.translate(remaining.pop())).seconds)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(clients)))
        took = time.perf_counter() - began
    p50, p95, p99 = (percentile(seconds, percent) * 1000 for percent in (50, 95, 99))
    return Run(len(texts) / took, p50, p95, p99)
