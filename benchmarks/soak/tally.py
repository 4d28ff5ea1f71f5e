"""Counts of results, and latencies in a histogram whose buckets are 2 % apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from benchmarks.soak.scene import Result

_STEP = math.log(1.02)


class Latencies(Counter[int]):
    """How many answers took how long, by bucket."""

    def add(self, seconds: float) -> None:
        self[round(math.log(max(seconds, 1e-4)) / _STEP)] += 1

    def percentile_ms(self, percent: float) -> float:
        """NaN of nothing."""
        wanted, seen = self.total() * percent / 100, 0
        for bucket in sorted(self):
            seen += self[bucket]
            if seen >= wanted:
                return math.exp(bucket * _STEP) * 1000
        return math.nan

    @classmethod
    def read(cls, written: Mapping[str, int]) -> Latencies:
        return cls({int(bucket): count for bucket, count in written.items()})


class Tally:
    """What happened since the start, and the latencies since they were last taken."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._latencies = {"short": Latencies(), "all": Latencies()}

    def count(self, name: str, result: Result) -> None:
        self.counts[f"{name}: {result}"] += 1

    def time(self, seconds: float, *, is_short: bool) -> None:
        """The latency of a translation that was answered."""
        self._latencies["all"].add(seconds)
        if is_short:
            self._latencies["short"].add(seconds)

    def total(self, *results: Result) -> int:
        ends = tuple(f": {result}" for result in results)
        return sum(count for name, count in self.counts.items() if name.endswith(ends))

    def take_latencies(self) -> dict[str, Latencies]:
        taken, self._latencies = self._latencies, {name: Latencies() for name in self._latencies}
        return taken
