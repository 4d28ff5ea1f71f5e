"""The picture of a soak: memory, descriptors and threads, latency and answers over time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.soak.summary import Record, Summary


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
        plot(memory, name.upper(), lambda _, after, name=name: after[name])
    memory.set(ylabel="MiB", ylim=(0, None), title="memory")
    for name in ("threads", "files", "sockets"):
        plot(open_things, name, lambda _, after, name=name: after[name])
    open_things.set(yscale="log", title="threads and descriptors")
    for name in ("short_p50_ms", "short_p99_ms", "all_p99_ms"):
        label = name.removesuffix("_ms").replace("_", " texts, ")
        plot(latency, label, lambda _, after, name=name: after[name] or float("nan"))
    latency.set(yscale="log", ylabel="ms", xlabel="minutes", title="latency of translations")
    for name in ("answered", "refused", "failed"):
        plot(answers, name, lambda before, after, name=name: _rate(before, after, name))
    answers.set(ylabel="a second", xlabel="minutes", title="requests")
    for axes in (memory, open_things, latency, answers):
        spike = [(one["seconds"] - start) / 60 for one in summary.spike.samples]
        axes.axvspan(spike[0], spike[-1], color="0.92")
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=120)


def _rate(before: Record, after: Record, name: str) -> float:
    return float((after[name] - before[name]) / (after["seconds"] - before["seconds"]))
