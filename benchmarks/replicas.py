"""Ray replicas beside the plain server: sentences a second and latency, with the same clients.

Closed loop: each client sends its next sentence when the last one is answered. The replicas have a
thread each; clients, Ray's proxy and its other processes share the machine with them.

    python -m benchmarks.replicas
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
from collections.abc import Iterator

import uvloop

from benchmarks.closed_loop import Run, closed_loop
from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import PORT, running_server
from tests.deploy.cluster import running_cluster

MODEL = ROOT / "checkpoints" / "zh-en"
BEAM_SIZE = 4


@contextlib.contextmanager
def plain(threads: int) -> Iterator[None]:
    with running_server(MODEL, ["--threads", str(threads)]):
        yield


@contextlib.contextmanager
def on_ray(replicas: int) -> Iterator[None]:
    with running_cluster(PORT, cpus=replicas) as cluster:
        cluster.deploy({"model": str(MODEL), "replicas": replicas, "threads": 1})
        cluster.wait_until_settled(replicas)
        yield


SERVERS = {
    "plain server, 1 thread": lambda: plain(1),
    "plain server, 2 threads": lambda: plain(2),
    "Ray, 1 replica": lambda: on_ray(1),
    "Ray, 2 replicas": lambda: on_ray(2),
}


def measure(server: str, clients: int, count: int, rounds: int) -> Run:
    """Medians over the rounds, after a warm-up."""
    with SERVERS[server]():
        uvloop.run(closed_loop(real_sentences(64, seed=2), 16, BEAM_SIZE))
        runs = [
            uvloop.run(closed_loop(real_sentences(count, seed=3), clients, BEAM_SIZE))
            for _ in range(rounds)
        ]
    rate, p50, p95, p99 = map(statistics.median, zip(*map(_figures, runs), strict=True))
    return Run(rate, p50, p95, p99)


def _figures(run: Run) -> tuple[float, float, float, float]:
    return run.rate, run.p50, run.p95, run.p99


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--count", type=int, default=600, help="sentences of one run")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| server | sentences/s | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|")
    for server in arguments.servers:
        run = measure(server, arguments.clients, arguments.count, arguments.rounds)
        cells = " | ".join(f"{figure:.1f}" for figure in _figures(run))
        print(f"| {server} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
