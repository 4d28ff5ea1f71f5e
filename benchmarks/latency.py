"""One sentence at a time through HTTP: mean, median and 99th percentile in milliseconds.

python -m benchmarks.latency
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import uvloop

from benchmarks.client import connected, translation_of
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import running_server


async def measure(texts: list[str], beam_size: int) -> list[float]:
    """Seconds of each, one after the other on one connection; the first ten warm up."""
    requests = [translation_of(text, beam_size=beam_size) for text in [*texts[:10], *texts]]
    async with connected() as client:
        return [(await client.translate(request)).seconds for request in requests][10:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--sentences", type=Path, help="one a line; default: the test data")
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    texts = real_sentences(arguments.count, 3, arguments.sentences)
    print(f"{provenance(weights(arguments.model))}\n")
    print("| beam | mean ms | p50 ms | p99 ms |\n|---|---|---|---|")
    with running_server(arguments.model):
        for beam_size in (1, 4):
            seconds = uvloop.run(measure(texts, beam_size))
            figures = (statistics.mean(seconds), percentile(seconds, 50), percentile(seconds, 99))
            cells = " | ".join(f"{figure * 1000:.1f}" for figure in figures)
            print(f"| {beam_size} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
