"""The record of a training run: log.csv and a picture of its curves."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

LOG_FILE = "log.csv"
PICTURE_FILE = "curves.png"
COLUMNS = (
    "step", "epoch", "seconds", "tokens", "tokens_per_second", "rate", "train_loss", "dev_loss",
    "dev_bleu",
)  # fmt: skip


class TrainingLog:
    """Rows of log.csv: one whenever a state is saved; dev columns only after a validation."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOG_FILE
        self._picture = directory / PICTURE_FILE

    def rewind(self, step: int) -> None:
        """Drop rows after `step`: a resumed run will write them again."""
        rows = [row for row in self.rows() if int(row["step"]) <= step]
        with self._path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)

    def append(self, values: dict[str, float]) -> None:
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, COLUMNS).writerow({k: _short(v) for k, v in values.items()})

    def rows(self) -> list[dict[str, str]]:
        if not self._path.exists():
            return []
        with self._path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def draw(self) -> None:
        """Loss and BLEU over steps as a picture beside the log."""
        from matplotlib.figure import Figure

        rows = self.rows()
        figure = Figure(figsize=(8, 4), layout="constrained")
        losses = figure.subplots()
        bleus = losses.twinx()
        for name, axes, colour in (
            ("train_loss", losses, "tab:gray"),
            ("dev_loss", losses, "tab:blue"),
            ("dev_bleu", bleus, "tab:red"),
        ):
            axes.plot(*_points(rows, name), color=colour, label=name, marker=".", markersize=3)
        losses.set_xlabel("optimiser steps")
        losses.set_ylabel("loss per target token (nats)")
        bleus.set_ylabel("dev BLEU (greedy)")
        figure.legend(loc="upper center", ncols=3)
        figure.savefig(self._picture, dpi=120)


def _points(rows: Sequence[dict[str, str]], name: str) -> tuple[list[int], list[float]]:
    present = [row for row in rows if row[name]]
    return [int(row["step"]) for row in present], [float(row[name]) for row in present]


def _short(value: float) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
