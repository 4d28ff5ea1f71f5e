"""How long a new connection waits for its answer while others are busy.

So many clients keep their connections and send one sentence after the other. Meanwhile others come,
one after the other or many at once; each connects, sends a sentence and leaves.

    python -m benchmarks.new_connections
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.client import Client, translation_of
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import running_server

_PAUSE_SECONDS = 0.05
_WARM_SECONDS = 1.0


async def one_connection(request: bytes) -> float:
    """Seconds from connecting until the answer has come."""
    client, began = Client(), time.perf_counter()
    try:
        await client.translate(request)
        return time.perf_counter() - began
    finally:
        client.close()


async def measure(clients: int, crowd: int, seconds: float, beam: int) -> None:
    requests = itertools.cycle(
        [translation_of(text, beam_size=beam) for text in real_sentences(300, seed=3)]
    )
    kept, ends = list[float](), time.perf_counter() + _WARM_SECONDS + seconds
    client = Client()

    async def keep_on() -> None:
        while time.perf_counter() < ends:
            kept.append((await client.translate(next(requests))).seconds)

    working = [asyncio.create_task(keep_on()) for _ in range(clients)]
    await asyncio.sleep(_WARM_SECONDS)
    kept.clear()
    coming = list[asyncio.Task[float]]()
    while time.perf_counter() < ends - seconds / 2:
        coming.append(asyncio.create_task(one_connection(next(requests))))
        await asyncio.sleep(_PAUSE_SECONDS)
    at_once = await asyncio.gather(*(one_connection(next(requests)) for _ in range(crowd)))
    single = await asyncio.gather(*coming)
    await asyncio.gather(*working)
    client.close()
    _print(f"{clients} kept", kept)
    _print("new, one after the other", single)
    _print(f"{crowd} new ones at once", at_once)


def _print(name: str, taken: Sequence[float]) -> None:
    figures = [percentile(taken, percent) * 1000 for percent in (50, 95)]
    cells = " | ".join(f"{figure:.0f}" for figure in (*figures, max(taken) * 1000))
    print(f"| {name} | {len(taken)} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--crowd", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--cached", action="store_true", help="answer from the cache")
    given = parser.parse_args()
    print(provenance(weights(given.model)))
    print("\n| connections | answers | p50 ms | p95 ms | longest ms |\n|---|---|---|---|---|")
    cache = ["--cache-bytes", str(2**26)] if given.cached else []
    with running_server(given.model, ["--max-waiting-sentences", "100000", *cache]):
        asyncio.run(measure(given.clients, given.crowd, given.seconds, given.beam))


if __name__ == "__main__":
    main()
