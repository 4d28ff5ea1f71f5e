"""The sentences that the benchmarks translate, and how latencies are summed up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def real_sentences(count: int, seed: int, path: Path | None = None) -> list[str]:
    """Chinese sentences of mixed length in random order: lines of `path` (for a TSV corpus, its
    first column), else those of the test data, over and over."""
    path = path or ROOT / "tests" / "data" / "sentences.zh.txt"
    lines = [line.split("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    rng = random.Random(seed)
    return [rng.choice(lines) for _ in range(count)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile; NaN of nothing."""
    if not values:
        return float("nan")
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * percent / 100))]
