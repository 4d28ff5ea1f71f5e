"""A short sentence among clients that keep sending long ones, with and without preemption.

Starts two servers in turns, with short work first and first come first served. Each gets a closed
loop of clients with long texts, none twice, and one client that sends a short sentence now and
then. Prints the latency of the short one alone and among the others, and the others' throughput.

    python -m benchmarks.short_among_long --rounds 3
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.client import Client, connected, translation_of
from benchmarks.cpu import CpuSeconds
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import memory_mib, running_server

SERVERS = {
    "first-come": ["--scheduling", "first-come"],
    "short-first": ["--scheduling", "short-first"],
}
SHORT = "今天天气很好。"
_LEAST_CHARACTERS = 20


@dataclass(frozen=True)
class Run:
    """Seconds of the short sentence alone and among long ones; long texts and their source
    characters a second; seconds of the long texts; MiB of the server."""

    alone: list[float]
    among: list[float]
    texts_rate: float
    characters_rate: float
    long: list[float]
    mib: float

    def __str__(self) -> str:
        middle, high = (percentile(self.among, p) / percentile(self.alone, p) for p in (50, 95))
        alone, among, long = map(_percentiles, (self.alone, self.among, self.long))
        return (
            f"alone {alone}, among long ones {among}: {middle:4.1f} and {high:4.1f} times; "
            f"long texts {self.texts_rate:5.1f}/s ({self.characters_rate:5.0f} characters/s), "
            f"{long}, {self.mib:.0f} MiB"
        )


def _percentiles(seconds: list[float]) -> str:
    middle, high = (percentile(seconds, percent) * 1000 for percent in (50, 95))
    return f"p50 {middle:6.1f} ms p95 {high:6.1f}"


def long_texts(seed: int) -> Iterator[str]:
    """Texts of one sentence with three or four long clauses, none twice."""
    lines = [line for line in real_sentences(400, seed) if len(line) >= _LEAST_CHARACTERS]
    rng = random.Random(seed)
    while True:
        clauses = [line.rstrip("。！？…") for line in rng.sample(lines, rng.choice((3, 4)))]
        yield "，".join(clauses) + "。"


async def short_ones(client: Client, count: int, pause: float) -> list[float]:
    """Seconds of a short sentence, again and again with random pauses."""
    rng, seconds = random.Random(0), []
    for _ in range(count):
        await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
        seconds.append((await client.translate(translation_of(SHORT))).seconds)
    return seconds


async def measure(arguments: argparse.Namespace, server_pid: int, seed: int) -> Run:
    async with connected() as client:
        await short_ones(client, 20, 0.01)
        alone = await short_ones(client, arguments.count, 0.02)
        texts, long, num_characters = long_texts(seed), list[float](), 0
        is_over = asyncio.Event()

        async def keep_sending() -> None:
            nonlocal num_characters
            while not is_over.is_set():
                text = next(texts)
                long.append((await client.translate(translation_of(text))).seconds)
                num_characters += len(text)

        senders = [asyncio.create_task(keep_sending()) for _ in range(arguments.clients)]
        await asyncio.sleep(1.0)
        long.clear()
        num_characters, started = 0, time.perf_counter()
        before = CpuSeconds.now(server_pid)
        among = await short_ones(client, arguments.count, 0.05)
        took, num_texts = time.perf_counter() - started, len(long)
        rates = num_texts / took, num_characters / took
        print("   ", CpuSeconds.now(server_pid).since(before).per_request(num_texts))
        is_over.set()
        await asyncio.gather(*senders)
    return Run(alone, among, *rates, long[:num_texts], memory_mib(server_pid)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--count", type=int, default=100, help="short sentences of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("server", nargs="*", help="further arguments for dragoman serve, after --")
    arguments = parser.parse_args()
    runs: dict[str, list[Run]] = {name: [] for name in SERVERS}
    for seed in range(arguments.rounds):
        for name, scheduling in SERVERS.items():
            with running_server(arguments.model, [*scheduling, *arguments.server]) as server:
                runs[name].append(uvloop.run(measure(arguments, server.pid, seed)))
            print(f"{name:<12} {runs[name][-1]}", flush=True)
    first_come, short_first = (
        statistics.median(run.characters_rate for run in runs[name]) for name in SERVERS
    )
    print(f"throughput with preemption over that without: {short_first / first_come:.3f}")


if __name__ == "__main__":
    main()
