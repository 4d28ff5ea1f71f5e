"""A closed loop: each client sends its next sentence when its last one is answered.

wrk sends them if it is installed (`apt-get install wrk`), because it takes less of the CPU that the
server needs; else benchmarks.client. In wrk's percentiles a stall counts once for each request that
it held back.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.client import connected, translation_of
from benchmarks.sentences import percentile
from benchmarks.server import PORT, URL

_SCRIPT = Path(__file__).with_name("wrk.lua")
Texts = str | list[str]
"""What one request asks for."""
GENERATOR = "wrk" if shutil.which("wrk") else "benchmarks.client"


@dataclass(frozen=True)
class Run:
    """One service with so many clients: requests a second, and milliseconds."""

    rate: float
    p50: float
    p95: float
    p99: float
    longest: float = float("nan")
    """Not told by wrk."""


def closed_loop(
    texts: Sequence[Texts],
    clients: int,
    beam_size: int,
    seconds: float,
    ports: Sequence[int] = (PORT,),
) -> Run:
    """The texts over and over, for so long. Ends the program if one is not translated. `ports`: of
    servers that share the clients; wrk knows the usual one only."""
    if GENERATOR == "wrk" and ports == (PORT,):
        return _by_wrk(texts, clients, beam_size, seconds)
    return uvloop.run(_by_ourselves(texts, clients, beam_size, seconds, ports))


def _by_wrk(texts: Sequence[Texts], clients: int, beam_size: int, seconds: float) -> Run:
    fields = {"source": "zh", "target": "en", "beam_size": beam_size}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps({'q': text, **fields})}\n" for text in texts)
        file.flush()
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:.0f}s", "--timeout", "60s"]
        command += ["-s", str(_SCRIPT), f"{URL}/translate", "--", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    *figures, failed = map(float, done.stdout.splitlines()[-1].split())
    if failed:
        raise SystemExit(f"{failed:.0f} requests were not translated")
    return Run(*figures)


def closed_loops(
    texts: Sequence[Texts],
    clients: int,
    beam_size: int,
    seconds: float,
    port: int,
    generators: int,
) -> Run:
    """As `closed_loop`, from several processes with as many clients each: one process sends at most
    some 5,000 requests a second."""
    spawning = multiprocessing.get_context("spawn")
    own = (texts, clients // generators, beam_size)
    with ProcessPoolExecutor(generators, mp_context=spawning) as pool:
        list(pool.map(_taken_apart, [(*own, 0.5, [port])] * generators))
        parts = list(pool.map(_taken_apart, [(*own, seconds, [port])] * generators))
    return _run([one for part in parts for one in part], seconds)


def _taken_apart(arguments: tuple[Sequence[Texts], int, int, float, Sequence[int]]) -> list[float]:
    return uvloop.run(_taken(*arguments))


async def _by_ourselves(
    texts: Sequence[Texts], clients: int, beam_size: int, seconds: float, ports: Sequence[int]
) -> Run:
    began = time.perf_counter()
    taken = await _taken(texts, clients, beam_size, seconds, ports)
    return _run(taken, time.perf_counter() - began)


def _run(taken: Sequence[float], seconds: float) -> Run:
    p50, p95, p99, longest = (percentile(taken, percent) * 1000 for percent in (50, 95, 99, 100))
    return Run(len(taken) / seconds, p50, p95, p99, longest)


async def _taken(
    texts: Sequence[Texts], clients: int, beam_size: int, seconds: float, ports: Sequence[int]
) -> list[float]:
    """Seconds of each request."""
    requests = itertools.cycle([translation_of(text, beam_size=beam_size) for text in texts])
    began, taken = time.perf_counter(), list[float]()
    async with connected(ports) as client:

        async def work() -> None:
            while time.perf_counter() < began + seconds:
                taken.append((await client.translate(next(requests))).seconds)

        await asyncio.gather(*(work() for _ in range(clients)))
    return taken
