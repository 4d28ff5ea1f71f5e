"""The picture of a soak: memory, descriptors and threads, latency and answers over time."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.soak.records import Record
from benchmarks.soak.summary import Summary


def draw(summary: Summary, path: Path) -> None:
    """Four charts over the minutes of the load; the spike is shaded."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    (memory, open_things), (latency, answers) = figure.subplots(2, 2, sharex=True)
    start = summary.calibrated["seconds"]

    def plot(axes: Any, label: str, value: Callable[[Record, Record], float]) -> None:
        pairs = list(itertools.pairwise(summary.loaded))
        minutes = [(after["seconds"] - start) / 60 for _, after in pairs]
        axes.plot(minutes, [value(*pair) for pair in pairs], label=label, linewidth=1)

    for name in ("rss", "uss"):
        plot(memory, name.upper(), _last(name))
    memory.set(ylabel="MiB", ylim=(0, None), title="memory")
    for name in ("threads", "files", "sockets"):
        plot(open_things, name, _last(name))
    open_things.set(yscale="log", title="threads and descriptors")
    for name in ("short_p50_ms", "short_p99_ms", "all_p99_ms"):
        label = name.removesuffix("_ms").replace("_", " texts, ")
        plot(latency, label, _last(name))
    latency.set(yscale="log", ylabel="ms", xlabel="minutes", title="latency of translations")
    for name in ("answered", "refused", "failed"):
        plot(answers, name, functools.partial(_rate, name))
    answers.set(ylabel="a second", xlabel="minutes", title="requests")
    for axes in (memory, open_things, latency, answers):
        spike = [(one["seconds"] - start) / 60 for one in summary.spike.samples]
        axes.axvspan(spike[0], spike[-1], color="0.92")
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=120)


def _last(name: str) -> Callable[[Record, Record], float]:
    """The second record's value; a gap where there is none."""
    return lambda _, after: float("nan") if after[name] is None else float(after[name])


def _rate(name: str, before: Record, after: Record) -> float:
    return float((after[name] - before[name]) / (after["seconds"] - before["seconds"]))
