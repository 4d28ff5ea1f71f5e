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
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import memory_mib, running_server

SERVERS = {
    "first-come": ["--scheduling", "first-come"],
    "short-first": ["--scheduling", "short-first"],
}
SHORT = "今天天气很好。"
_LEAST_CHARACTERS = 20
_HEADER = """| p50 / p95 | short alone ms | among long ms | times | long texts/s | long ms | MiB |
|---|---|---|---|---|---|---|"""


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

    @property
    def times_alone(self) -> tuple[float, float]:
        """At p50 and p95."""
        middle, high = (percentile(self.among, p) / percentile(self.alone, p) for p in (50, 95))
        return middle, high

    def row(self, name: str) -> str:
        cells = [_milliseconds(self.alone), _milliseconds(self.among)]
        cells += ["{:.1f} / {:.1f}".format(*self.times_alone), f"{self.texts_rate:.1f}"]
        return f"| {' | '.join([name, *cells, _milliseconds(self.long), f'{self.mib:.0f}'])} |"


def _milliseconds(seconds: list[float]) -> str:
    middle, high = (percentile(seconds, percent) * 1000 for percent in (50, 95))
    return f"{middle:.1f} / {high:.1f}"


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
        among = await short_ones(client, arguments.count, 0.05)
        took, num_texts = time.perf_counter() - started, len(long)
        rates = num_texts / took, num_characters / took
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
    print(f"{provenance(weights(arguments.model))}\n\n{_HEADER}", flush=True)
    for seed in range(arguments.rounds):
        for name, scheduling in SERVERS.items():
            with running_server(arguments.model, [*scheduling, *arguments.server]) as server:
                runs[name].append(uvloop.run(measure(arguments, server.pid, seed)))
            print(runs[name][-1].row(name), flush=True)
    print("\nthe round with the median p95 of each:")
    for name, some in runs.items():
        print(sorted(some, key=lambda run: run.times_alone[1])[len(some) // 2].row(name))
    first_come, short_first = (
        statistics.median(run.characters_rate for run in runs[name]) for name in SERVERS
    )
    print(f"\nthroughput with preemption over that without: {short_first / first_come:.3f}")


if __name__ == "__main__":
    main()
