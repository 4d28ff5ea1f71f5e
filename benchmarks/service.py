"""Dragoman against the service that a user would otherwise write, on the same weights.

The other one is benchmarks/peers/ctranslate2_service.py: FastAPI around CTranslate2 in int8, one
`translate_batch` a request in the thread pool. It is tried in both splits of the cores, one
translator on all of them or a translator a core, and its better figure counts in each case. Closed
loop: each client sends its next sentence when the last one is answered. Also seconds until ready
and resident memory.

    python -m benchmarks.service
    python -m benchmarks.service --clients 64 --beams 4
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.closed_loop import GENERATOR, Run, closed_loop
from benchmarks.peers.shapes import BUNDLED, prepare
from benchmarks.peers.translators import Split, splits
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import real_sentences
from benchmarks.server import PORT, memory_mib, running, running_server

Case = tuple[int, int]
"""Beam size and clients."""


@contextlib.contextmanager
def started(split: Split | None, root: Path, threads: int) -> Iterator[int]:
    """The service around CTranslate2 in this split, or ours, ready -> its process."""
    if split is None:
        with running_server(BUNDLED, ["--threads", str(threads)]) as server:
            yield server.pid
        return
    environment = {
        **os.environ,
        "PEER_MODEL": str(root),
        "PEER_TRANSLATORS": str(split.translators),
        "PEER_THREADS": str(split.threads),
    }
    factory = "benchmarks.peers.ctranslate2_service:create_app"
    command = ["uvicorn", "--factory", factory, "--port", str(PORT), "--log-level", "error"]
    command += ["--timeout-graceful-shutdown", "1"]
    with running(command, "/ready", environment) as server:
        yield server.pid


def measure(
    split: Split | None, root: Path, given: argparse.Namespace
) -> tuple[dict[Case, Run], str]:
    """One start of the service -> every case; how fast it was ready, and its memory."""
    began, texts = time.perf_counter(), real_sentences(given.count, seed=3)
    with started(split, root, given.threads) as pid:
        ready_seconds, ready_mib = time.perf_counter() - began, memory_mib(pid)[0]
        closed_loop(texts, 8, 4, 2)
        runs = {
            (beam, clients): closed_loop(texts, clients, beam, given.seconds)
            for beam in given.beams
            for clients in given.clients
        }
        held = f"ready after {ready_seconds:.1f} s with {ready_mib:.0f} MiB"
        return runs, f"{held}, at most {memory_mib(pid)[1]:.0f} MiB"


def median(runs: Sequence[Run]) -> Run:
    figures = zip(*((run.rate, run.p50, run.p95, run.p99) for run in runs), strict=True)
    return Run(*map(statistics.median, figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--count", type=int, default=300, help="different sentences")
    parser.add_argument("--seconds", type=float, default=4, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    tried: list[Split | None] = [None, *splits("ctranslate2", given.threads, "cpu")]
    rounds: dict[Split | None, list[dict[Case, Run]]] = {split: [] for split in tried}
    with tempfile.TemporaryDirectory() as root:
        prepare("bundled", Path(root), None, 1)
        for _ in range(given.rounds):
            for split, results in rounds.items():
                runs, held = measure(split, Path(root), given)
                results.append(runs)
                print(f"{f'CTranslate2 {split}' if split else 'Dragoman'}: {held}", flush=True)
    print(f"\n{provenance(weights(BUNDLED))}; load by {GENERATOR}\n")
    print("| beam | clients | service | sentences/s | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    for beam in given.beams:
        for clients in given.clients:
            found = {s: median([runs[beam, clients] for runs in rounds[s]]) for s in tried}
            ours, best = found.pop(None), max(found, key=lambda split: found[split].rate)
            for name, run in (("Dragoman", ours), (f"CTranslate2 {best}", found[best])):
                cells = " | ".join(f"{one:.1f}" for one in (run.rate, run.p50, run.p95, run.p99))
                print(f"| {beam} | {clients} | {name} | {cells} |")


if __name__ == "__main__":
    main()
