"""The server under load, over HTTP: open-loop arrivals, overhead, overtaking, overload.

Starts `dragoman serve` itself, in its own process, and prints:

(a) Poisson arrivals at rising rates: throughput, latency percentiles, share of 503
(c) a short sentence sent into a server busy with 32 long ones, against the same sentence alone
(d) the service's throughput over the runner's own on the same sentences

    python -m benchmarks.load --picture load.png
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import URL, running_server


@dataclass(frozen=True)
class Load:
    """What one rate brought; latency in seconds of answered requests."""

    offered: float
    reached: float
    p50: float
    p95: float
    p99: float
    rejected: int
    slowest_rejection: float


async def translate(client: httpx.AsyncClient, text: str) -> tuple[int, float]:
    """-> status and seconds."""
    started = time.perf_counter()
    body = {"q": text, "source": "zh", "target": "en"}
    response = await client.post("/translate", json=body)
    return response.status_code, time.perf_counter() - started


async def offer(client: httpx.AsyncClient, rate: float, seconds: float, seed: int) -> Load:
    """Send sentences at random moments, whether the server keeps up or not."""
    rng = random.Random(seed)
    texts = real_sentences(int(rate * seconds), seed)
    tasks = []
    started = time.perf_counter()
    moment = started
    for text in texts:
        moment += rng.expovariate(rate)
        await asyncio.sleep(max(0.0, moment - time.perf_counter()))
        tasks.append(asyncio.create_task(translate(client, text)))
    results = await asyncio.gather(*tasks)
    took = time.perf_counter() - started
    answered = [latency for status, latency in results if status == 200]
    rejected = [latency for status, latency in results if status == 503]
    return Load(
        offered=rate,
        reached=len(answered) / took,
        p50=percentile(answered, 50),
        p95=percentile(answered, 95),
        p99=percentile(answered, 99),
        rejected=len(rejected),
        slowest_rejection=max(rejected, default=0.0),
    )


async def closed_loop(client: httpx.AsyncClient, texts: list[str]) -> float:
    """All texts as one request's list -> sentences a second."""
    started = time.perf_counter()
    body = {"q": texts, "source": "zh", "target": "en"}
    response = await client.post("/translate", json=body)
    response.raise_for_status()
    return len(texts) / (time.perf_counter() - started)


async def concurrent(client: httpx.AsyncClient, texts: list[str], clients: int) -> float:
    """One request a text, `clients` at a time -> sentences a second."""
    remaining = list(texts)

    async def work() -> None:
        while remaining:
            await translate(client, remaining.pop())

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return len(texts) / (time.perf_counter() - started)


async def overtaking(client: httpx.AsyncClient, repeats: int) -> tuple[float, float]:
    """Median seconds of a short sentence alone, and among 32 long ones."""
    short, long = (
        "你好。",
        "昨天下午我和朋友们一起去图书馆看书，然后在河边散步，一直走到天黑才回家，" * 2,
    )
    alone = [(await translate(client, short))[1] for _ in range(repeats)]
    busy = []
    for _ in range(repeats):
        crowd = [asyncio.create_task(translate(client, long)) for _ in range(32)]
        await asyncio.sleep(0.3)
        busy.append((await translate(client, short))[1])
        await asyncio.gather(*crowd)
    return statistics.median(alone), statistics.median(busy)


def runner_alone(model: Path) -> float:
    """Sentences a second of the runner with nobody waiting, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.offline", "--model", str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return float(done.stdout)


async def measure(arguments: argparse.Namespace) -> list[Load]:
    limits = httpx.Limits(max_connections=5000, max_keepalive_connections=200)
    async with httpx.AsyncClient(base_url=URL, timeout=120, limits=limits) as client:
        await offer(client, 10, 2, seed=0)

        alone, busy = await overtaking(client, repeats=5)
        print(f"(c) short sentence alone {alone * 1000:.1f} ms")
        print(f"    among 32 long ones {busy * 1000:.1f} ms: {busy / alone:.2f} times")
        texts = real_sentences(400, seed=3)
        service = statistics.median([await concurrent(client, texts, 64) for _ in range(3)])
        listed = statistics.median([await closed_loop(client, texts) for _ in range(3)])
        own = runner_alone(arguments.model)
        print(f"(d) runner alone {own:.1f} sentences/s")
        print(f"    one list over HTTP {listed:.1f}/s: {listed / own:.2f}")
        print(f"    64 clients over HTTP {service:.1f}/s: {service / own:.2f}", flush=True)
        loads = []
        for rate in arguments.rates:
            load = await offer(client, rate, arguments.seconds, seed=4)
            loads.append(load)
            print(
                f"(a) offered {rate:6.1f}/s reached {load.reached:6.1f}/s "
                f"p50 {load.p50 * 1000:7.0f} p95 {load.p95 * 1000:7.0f} "
                f"p99 {load.p99 * 1000:7.0f} ms, 503: {load.rejected} "
                f"(slowest {load.slowest_rejection * 1000:.0f} ms)",
                flush=True,
            )
    return loads


def draw(loads: list[Load], path: Path) -> None:
    """Throughput and latency over the offered rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    throughput, latency = figure.subplots(1, 2)
    offered = [load.offered for load in loads]
    throughput.plot(offered, [load.reached for load in loads], marker="o")
    throughput.set_xlabel("offered sentences/s")
    throughput.set_ylabel("answered sentences/s")
    for name in ("p50", "p95", "p99"):
        latency.plot(
            offered, [getattr(load, name) * 1000 for load in loads], marker="o", label=name
        )
    latency.set_xlabel("offered sentences/s")
    latency.set_ylabel("latency (ms)")
    latency.set_yscale("log")
    latency.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one rate's run")
    parser.add_argument("--rates", type=float, nargs="*", default=[5, 10, 20, 30, 40, 60, 100])
    parser.add_argument("--picture", type=Path)
    parser.add_argument("server", nargs="*", help="further arguments for dragoman serve, after --")
    arguments = parser.parse_args()
    with running_server(arguments.model, arguments.server):
        loads = asyncio.run(measure(arguments))
    if arguments.picture:
        draw(loads, arguments.picture)


if __name__ == "__main__":
    main()
