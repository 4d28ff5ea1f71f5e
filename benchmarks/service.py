"""Dragoman against the service that a user would otherwise write, on the same weights.

The other one is benchmarks/peers/ctranslate2_service.py: FastAPI around CTranslate2 in int8, one
`translate_batch` a request in the thread pool, with the two ways to use the cores: one translation
on all threads, or as many at the same time as there are threads. Closed loop: each client sends its
next sentence when the last one is answered. Also seconds until ready and resident memory.

    python -m benchmarks.service
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.closed_loop import Run, closed_loop
from benchmarks.peers.shapes import prepare
from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import PORT, memory_mib, running, running_server

SERVICES = ("dragoman", "ctranslate2 1 x all", "ctranslate2 all x 1")
CLIENTS = (1, 16, 64)
BEAMS = (1, 4)
Case = tuple[int, int]


@contextlib.contextmanager
def started(service: str, root: Path, threads: int) -> Iterator[int]:
    """The service, ready -> its process."""
    if service == "dragoman":
        with running_server(ROOT / "checkpoints" / "zh-en", ["--threads", str(threads)]) as server:
            yield server.pid
        return
    is_split = service.endswith("x 1")
    environment = {
        **os.environ,
        "PEER_MODEL": str(root),
        "PEER_TRANSLATORS": str(threads if is_split else 1),
        "PEER_THREADS": str(1 if is_split else threads),
    }
    factory = "benchmarks.peers.ctranslate2_service:create_app"
    command = ["uvicorn", "--factory", factory, "--port", str(PORT), "--log-level", "error"]
    command += ["--timeout-graceful-shutdown", "1"]
    with running(command, "/ready", environment) as server:
        yield server.pid


def measure(service: str, root: Path, threads: int, count: int) -> dict[Case, Run]:
    """One start of the service: every number of clients and every beam."""
    began = time.perf_counter()
    runs = {}
    with started(service, root, threads) as pid:
        ready_seconds = time.perf_counter() - began
        ready_mib, _ = memory_mib(pid)
        uvloop.run(closed_loop(real_sentences(32, seed=2), 8, 4))
        for beam in BEAMS:
            for clients in CLIENTS:
                texts = real_sentences(count if clients > 1 else count // 3, seed=3)
                runs[clients, beam] = uvloop.run(closed_loop(texts, clients, beam))
        _, most_mib = memory_mib(pid)
    print(
        f"{service:<20} ready after {ready_seconds:.1f} s with {ready_mib:.0f} MiB, "
        f"at most {most_mib:.0f} MiB",
        flush=True,
    )
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--count", type=int, default=300, help="sentences of one run")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rounds: dict[str, list[dict[Case, Run]]] = {service: [] for service in SERVICES}
    with tempfile.TemporaryDirectory() as root:
        prepare("bundled", Path(root), None, 1)
        for _ in range(arguments.rounds):
            for service, results in rounds.items():
                results.append(measure(service, Path(root), arguments.threads, arguments.count))
    print("| beam | clients | service | sentences/s | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    for beam in BEAMS:
        for clients in CLIENTS:
            for service, results in rounds.items():
                runs = [result[clients, beam] for result in results]
                figures = [
                    statistics.median(getattr(run, name) for run in runs)
                    for name in ("rate", "p50", "p95", "p99")
                ]
                cells = " | ".join(f"{figure:.1f}" for figure in figures)
                print(f"| {beam} | {clients} | {service} | {cells} |")


if __name__ == "__main__":
    main()
