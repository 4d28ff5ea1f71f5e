"""What the records of a soak say: a table by slices of time, and whether each promise held."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.soak.records import Record
from benchmarks.soak.scene import FAILURES, Result
from benchmarks.soak.tally import Latencies

_NUM_SLICES = 6
_RECOVERY_SECONDS = 30.0
_MOST_GROWTH, _MOST_SLOWER = 0.05, 1.5
_LEFT_OVER = ("running", "rows_used", "set_aside", "waiting", "open_streams", "children")


@dataclass(frozen=True)
class Slice:
    """Samples of some time, and the last one before it."""

    name: str
    before: Record
    samples: Sequence[Record]

    @property
    def last(self) -> Record:
        return self.samples[-1]

    @property
    def rss_mib(self) -> float:
        return float(statistics.median(sample["rss"] for sample in self.samples))

    def most(self, name: str) -> int:
        return int(max(sample[name] for sample in self.samples))

    def done(self, name: str) -> int:
        """How much a count grew."""
        return int(self.last[name] - self.before[name])

    def rate(self, name: str) -> float:
        return self.done(name) / float(self.last["seconds"] - self.before["seconds"])

    def percentile_ms(self, which: str, percent: float) -> float:
        """`which`: short or all."""
        together = Latencies()
        for sample in self.samples:
            together.update(Latencies.read(sample[f"{which}_latencies"]))
        return together.percentile_ms(percent)


@dataclass(frozen=True)
class Promise:
    """Something that must hold, and what was seen."""

    text: str
    seen: str
    holds: bool

    def __str__(self) -> str:
        return f"| {self.text} | {self.seen} | {'yes' if self.holds else 'NO'} |"


class Summary:
    """Of the records of one run, also of one that has not ended."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.samples = [one for one in records if one["event"] == "sample"]
        self.problems = [one for one in records if one["event"] == "problem"]
        self.calibrated = next(one for one in records if one["event"] == "calibrated")
        self.begin = next(one for one in records if one["event"] == "begin")
        self.end = next((one for one in records if one["event"] == "end"), {})
        loaded = [one for one in self.samples if one["phase"] in ("load", "spike")]
        self.loaded = [one for one in loaded if one["seconds"] > self.calibrated["seconds"]]

    @cached_property
    def spike(self) -> Slice:
        """The spike and the time that the server needs afterwards."""
        first = next(i for i, one in enumerate(self.loaded) if one["phase"] == "spike")
        spike = [one for one in self.loaded if self._is_spike(one)]
        return Slice("spike", self.loaded[first - 1], spike)

    @cached_property
    def slices(self) -> list[Slice]:
        """The rest of the load in six parts; the first is the warm-up."""
        began = self.calibrated["seconds"]
        length = (self.loaded[-1]["seconds"] - began) / _NUM_SLICES
        parts: list[list[Record]] = [[] for _ in range(_NUM_SLICES)]
        for sample in self.loaded:
            if not self._is_spike(sample):
                number = int((sample["seconds"] - began) / length)
                parts[min(number, _NUM_SLICES - 1)].append(sample)
        minutes = [length * number / 60 for number in range(_NUM_SLICES + 1)]
        names = (f"{a:.0f} to {b:.0f} min" for a, b in itertools.pairwise(minutes))
        return [
            Slice(name, self._before(part[0]), part)
            for name, part in zip(names, parts, strict=True)
            if part
        ]

    def _before(self, sample: Record) -> Record:
        return self.samples[self.samples.index(sample) - 1]

    @cached_property
    def _spike_ends(self) -> tuple[float, float]:
        moments = [one["seconds"] for one in self.loaded if one["phase"] == "spike"]
        return min(moments), max(moments) + _RECOVERY_SECONDS

    def _is_spike(self, sample: Record) -> bool:
        first, last = self._spike_ends
        return bool(first <= sample["seconds"] <= last)

    @property
    def counts(self) -> Mapping[str, int]:
        counts: Mapping[str, int] = self.samples[-1]["counts"]
        return counts

    def count(self, *results: Result) -> int:
        """Visits that ended so."""
        ends = tuple(f": {result}" for result in results)
        return sum(count for name, count in self.counts.items() if name.endswith(ends))

    @property
    def growth(self) -> float:
        """Of resident memory, from the slice after the warm-up to the last."""
        return self.slices[-1].rss_mib / self.slices[1].rss_mib - 1

    @property
    def holds(self) -> bool:
        return all(promise.holds for promise in self.promises)

    @cached_property
    def promises(self) -> list[Promise]:
        return [*self._answers(), *self._resources(), *self._left_over(), *self._ended()]

    def _answers(self) -> Iterable[Promise]:
        right = self.count(Result.RIGHT)
        for result in FAILURES:
            count = self.count(result)
            yield Promise(f"no visit ends {result}", f"{count}, {right} right", count == 0)
        after, last = self.slices[1], self.slices[-1]
        first_ms, last_ms = (part.percentile_ms("short", 99) for part in (after, last))
        yield Promise(
            "p99 of short texts is stable",
            f"{first_ms:.0f} ms, at the end {last_ms:.0f} ms",
            last_ms <= _MOST_SLOWER * first_ms,
        )

    def _resources(self) -> Iterable[Promise]:
        first, last = self.slices[1], self.slices[-1]
        shown = f"{first.rss_mib:.0f} MiB, at the end {last.rss_mib:.0f} MiB: {self.growth:+.1%}"
        yield Promise("resident memory grows by 5 % at most", shown, self.growth <= _MOST_GROWTH)
        for name in ("files", "threads"):
            before, after = first.most(name), last.most(name)
            yield Promise(f"no more {name}", f"{before}, at the end {after}", after <= before)

    def _left_over(self) -> Iterable[Promise]:
        first, trimmed = self.samples[0], self.samples[-1]
        if trimmed["phase"] != "trimmed":
            return
        left = {name: trimmed[name] for name in _LEFT_OVER if trimmed[name]}
        yield Promise("no slot, row, queue, stream or process is left", str(left), not left)
        before, after = first["sockets"], trimmed["sockets"]
        yield Promise("no socket is left", f"{before} at first, {after} after", after <= before)

    def _ended(self) -> Iterable[Promise]:
        restarts = self.samples[-1]["engine_restarts"]
        yield Promise("no engine dies", f"{restarts:.0f}", restarts == 0)
        if self.end:
            counted, stored = self.end["counted"], self.end["stored"]
            yield Promise("each answer counts once", f"{counted}, {stored}", counted == stored)
            log_errors, code = self.end["log_errors"], self.end["exit_code"]
            yield Promise("no error in the log", str(log_errors), log_errors == 0)
            yield Promise("SIGTERM ends it with 0", str(code), code == 0)

    def __str__(self) -> str:
        calibrated = self.calibrated
        return "\n".join(
            [
                f"commit {self.begin['commit']}, {self.begin['minutes']:g} minutes; reached "
                f"{calibrated['reached']:.0f} requests/s, loaded with {calibrated['rate']:.0f}",
                "",
                "| | requests/s | short p50, p99 ms | all p50, p99 ms | 503 | MiB | threads "
                "| files | load average |",
                "|---|---|---|---|---|---|---|---|---|",
                *map(_row, [*self.slices, self.spike]),
                "",
                "| promise | seen | holds |",
                "|---|---|---|",
                *map(str, self.promises),
                "",
                *self._shown_counts(),
            ]
        )

    def _shown_counts(self) -> list[str]:
        ends = ", ".join(f"{result} {self.count(result)}" for result in Result)
        first = {problem["kind"]: problem for problem in reversed(self.problems)}
        return [f"ends: {ends}", *(f"first problem of its kind: {one}" for one in first.values())]


def _row(part: Slice) -> str:
    cells = [
        part.name,
        f"{part.rate('answered'):.0f}",
        f"{part.percentile_ms('short', 50):.0f}, {part.percentile_ms('short', 99):.0f}",
        f"{part.percentile_ms('all', 50):.0f}, {part.percentile_ms('all', 99):.0f}",
        str(part.done("refused")),
        f"{part.rss_mib:.0f}",
        str(part.most("threads")),
        str(part.most("files")),
        f"{statistics.median(sample['load_average'] for sample in part.samples):.1f}",
    ]
    return "| " + " | ".join(cells) + " |"
