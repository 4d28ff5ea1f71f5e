"""The server under load, over HTTP: open-loop arrivals, overhead, overtaking, overload.

Starts `dragoman serve` itself, in its own process, and prints:

- a short sentence sent into a server busy with 32 long ones, against the same sentence alone;
- the service's throughput over the runner's own (benchmarks.offline) on the same texts;
- Poisson arrivals at rising rates: throughput, latency percentiles, time to first token of every
  fifth request, which is streamed, and answers of 503; the last rates are far above what the
  server sustains; and who took the CPU, for server and client share the machine.

    python -m benchmarks.load --picture load.png -- --max-waiting-sentences 128
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

import uvloop

from benchmarks.client import EVENT_STREAM, Answer, Client, connected, translation_of
from benchmarks.cpu import CpuSeconds
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import running_server

_STREAMED_EVERY = 5
_HEADER = """| offered requests/s | answered/s | p50 ms | p95 ms | p99 ms | first token ms | 503 |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Load:
    """What one rate brought; latency and time to first token in seconds of answered requests."""

    offered: float
    reached: float
    p50: float
    p95: float
    p99: float
    first_token_p50: float
    rejected: int
    rejection_p99: float

    def __str__(self) -> str:
        """A row of the table."""
        times = (self.p50, self.p95, self.p99, self.first_token_p50)
        cells = [f"{self.offered:.0f}", f"{self.reached:.1f}", *(f"{s * 1000:.0f}" for s in times)]
        refused = f"{self.rejected} (p99 {self.rejection_p99 * 1000:.0f} ms)"
        return f"| {' | '.join([*cells, refused if self.rejected else '0'])} |"


async def offer(client: Client, rate: float, seconds: float, seed: int) -> Load:
    """Send sentences at random moments, whether the server keeps up or not."""
    rng = random.Random(seed)
    requests = [
        translation_of(text, "*/*" if i % _STREAMED_EVERY else EVENT_STREAM)
        for i, text in enumerate(real_sentences(int(rate * seconds), seed))
    ]
    tasks = []
    started = moment = time.perf_counter()
    for request in requests:
        moment += rng.expovariate(rate)
        if (early := moment - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(client.send(request)))
    answers = await asyncio.gather(*tasks)
    return summed_up(rate, answers, time.perf_counter() - started)


def summed_up(rate: float, answers: list[Answer], took: float) -> Load:
    done = [answer.seconds for answer in answers if answer.status == 200]
    first = [answer.first_byte for answer in answers[::_STREAMED_EVERY] if answer.status == 200]
    rejected = [answer.seconds for answer in answers if answer.status == 503]
    return Load(
        offered=rate,
        reached=len(done) / took,
        p50=percentile(done, 50),
        p95=percentile(done, 95),
        p99=percentile(done, 99),
        first_token_p50=percentile(first, 50),
        rejected=len(rejected),
        rejection_p99=percentile(rejected, 99) if rejected else 0.0,
    )


async def as_one_list(client: Client, texts: list[str]) -> float:
    """All texts as one request's list -> sentences a second."""
    answer = await client.translate(translation_of(texts))
    return len(texts) / answer.seconds


async def concurrent(client: Client, texts: list[str], clients: int) -> float:
    """One request a text, `clients` at a time -> sentences a second. The line may be too short for
    so many that begin at once: who is refused asks again."""
    remaining = [translation_of(text) for text in texts]

    async def work() -> None:
        while remaining:
            request = remaining.pop()
            answer = await client.send(request)
            if answer.status == 503:
                remaining.append(request)
            elif answer.status != 200:
                raise SystemExit(f"a request of the closed loop was answered {answer.status}")

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return len(texts) / (time.perf_counter() - started)


async def overtaking(client: Client, repeats: int) -> tuple[float, float]:
    """Median seconds of a short sentence alone, and among 32 long ones."""
    long_text = "昨天下午我和朋友们一起去图书馆看书，然后在河边散步，一直走到天黑才回家，" * 2
    short, long = translation_of("你好。"), translation_of(long_text)
    alone = [(await client.translate(short)).seconds for _ in range(repeats)]
    busy = []
    for _ in range(repeats):
        crowd = [asyncio.create_task(client.translate(long)) for _ in range(32)]
        await asyncio.sleep(0.1)
        busy.append((await client.translate(short)).seconds)
        await asyncio.gather(*crowd)
    return statistics.median(alone), statistics.median(busy)


def runner_alone(model: Path) -> float:
    """Sentences a second of the runner with nobody waiting, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.offline", "--model", str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return float(done.stdout)


async def measure(arguments: argparse.Namespace, server_pid: int) -> list[Load]:
    async with connected() as client:
        await offer(client, 10, 2, seed=0)
        alone, busy = await overtaking(client, repeats=9)
        print(f"a short sentence alone {alone * 1000:.1f} ms")
        print(f"among 32 long ones {busy * 1000:.1f} ms: {busy / alone:.2f} times")
        await compare_with_runner(client, arguments.model, server_pid)
        loads, costs = [], []
        print(f"\n{_HEADER}")
        for rate in arguments.rates:
            before = CpuSeconds.now(server_pid)
            loads.append(await offer(client, rate, arguments.seconds, seed=4))
            print(loads[-1], flush=True)
            cpu = CpuSeconds.now(server_pid).since(before)
            costs.append(f"{rate:.0f}/s: {cpu.per_request(int(rate * arguments.seconds))}")
    print("", *costs, sep="\n")
    return loads


async def compare_with_runner(client: Client, model: Path, server_pid: int) -> None:
    """Alternating, because the machine's speed drifts. The clients go on for some seconds, so that
    the end, when there are fewer of them, does not count for much."""
    texts = real_sentences(400, seed=3)
    own, clients, listed = [], [], []
    for _ in range(3):
        own.append(runner_alone(model))
        before = CpuSeconds.now(server_pid)
        clients.append(await concurrent(client, texts * 4, 64))
        cpu = CpuSeconds.now(server_pid).since(before)
        listed.append(await as_one_list(client, texts))
    alone = statistics.median(own)
    print(f"the runner alone {alone:.1f} sentences/s")
    for name, rates in (("one list", listed), ("64 clients", clients)):
        rate = statistics.median(rates)
        print(f"{name} over HTTP {rate:.1f}/s: {rate / alone:.2f}")
    print("64 clients:", cpu.per_request(len(texts) * 4), flush=True)


def draw(loads: list[Load], path: Path) -> None:
    """Throughput and latency over the offered rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    throughput, latency = figure.subplots(1, 2)
    offered = [load.offered for load in loads]
    throughput.plot(offered, [load.reached for load in loads], marker="o")
    throughput.set_xlabel("offered sentences/s")
    throughput.set_ylabel("answered sentences/s")
    for name in ("p50", "p95", "p99", "first_token_p50"):
        latency.plot(
            offered, [getattr(load, name) * 1000 for load in loads], marker="o", label=name
        )
    latency.set_xlabel("offered sentences/s")
    latency.set_ylabel("latency (ms)")
    latency.set_yscale("log")
    for axes in (throughput, latency):
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(offered, [f"{rate:.0f}" for rate in offered], rotation=90)
    latency.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one rate's run")
    parser.add_argument("--rates", type=float, nargs="*", default=[*range(50, 601, 50), 1500, 2500])
    parser.add_argument("--picture", type=Path)
    parser.add_argument("server", nargs="*", help="further arguments for dragoman serve, after --")
    arguments = parser.parse_args()
    print(provenance(weights(arguments.model)), flush=True)
    with running_server(arguments.model, arguments.server) as server:
        loads = uvloop.run(measure(arguments, server.pid))
    if arguments.picture:
        draw(loads, arguments.picture)


if __name__ == "__main__":
    main()
