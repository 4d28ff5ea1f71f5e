"""A closed loop: each client sends its next sentence when its last one is answered."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import aiohttp

from benchmarks.sentences import percentile
from benchmarks.server import URL


@dataclass(frozen=True)
class Run:
    """One service with so many clients: sentences a second, and milliseconds."""

    rate: float
    p50: float
    p95: float
    p99: float


async def closed_loop(texts: list[str], clients: int, beam_size: int) -> Run:
    remaining, seconds = list(texts), []
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
    async with aiohttp.ClientSession(URL, connector=connector) as session:

        async def work() -> None:
            while remaining:
                body = {"q": remaining.pop(), "source": "zh", "target": "en"}
                sent = time.perf_counter()
                async with session.post("/translate", json={**body, "beam_size": beam_size}) as r:
                    await r.read()
                    r.raise_for_status()
                seconds.append(time.perf_counter() - sent)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(clients)))
        took = time.perf_counter() - began
    p50, p95, p99 = (percentile(seconds, percent) * 1000 for percent in (50, 95, 99))
    return Run(len(texts) / took, p50, p95, p99)
