"""What the settings do: each started with one of them changed, closed loops of 1 and 64 clients.

python -m benchmarks.knobs
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import uvloop

from benchmarks.closed_loop import Run, closed_loop
from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import memory_mib, running_server

VARIANTS: dict[str, list[str]] = {
    "defaults": [],
    **{f"--max-slots {n}": ["--max-slots", str(n)] for n in (1, 8, 16, 32, 128)},
    **{f"--max-rows {n}": ["--max-rows", str(n)] for n in (32, 64)},
    **{f"--max-prefill-tokens {n}": ["--max-prefill-tokens", str(n)] for n in (64, 8192)},
    "--workers 1": ["--workers", "1"],
    "--threads 1": ["--threads", "1"],
    "--precision float32": ["--precision", "float32"],
    "--log-level warning": ["--log-level", "warning"],
}
CLIENTS = (1, 64)


def measure(model: Path, arguments: list[str], count: int) -> tuple[list[Run], float]:
    """One start of the server -> a run for each number of clients, and MiB at the end."""
    with running_server(model, arguments) as server:
        uvloop.run(closed_loop(real_sentences(32, seed=2), 8, 4))
        runs = []
        for clients in CLIENTS:
            texts = real_sentences(count if clients > 1 else count // 4, seed=3)
            runs.append(uvloop.run(closed_loop(texts, clients, 4)))
        return runs, memory_mib(server.pid)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--count", type=int, default=500, help="sentences of one run")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, list[tuple[list[Run], float]]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name, arguments in VARIANTS.items():
            results[name].append(measure(options.model, arguments, options.count))
    print("| setting | 1 client: p50 ms | 64 clients: sentences/s | p50 ms | p95 ms | MiB |")
    print("|---|---|---|---|---|---|")
    for name, rounds in results.items():
        alone, crowd = ([runs[place] for runs, _ in rounds] for place in (0, 1))
        columns = [
            [run.p50 for run in alone],
            [run.rate for run in crowd],
            [run.p50 for run in crowd],
            [run.p95 for run in crowd],
            [mib for _, mib in rounds],
        ]
        figures = [statistics.median(column) for column in columns]
        print(f"| `{name}` | " + " | ".join(f"{figure:.0f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
