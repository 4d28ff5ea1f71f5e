"""A training run's log.csv and a plot of its curves."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from model.files import replacing
from model.training.saving import damaged

LOG_FILE = "log.csv"
PICTURE_FILE = "curves.png"
COLUMNS = (
    "step", "epoch", "seconds", "tokens", "tokens_per_second", "rate", "train_loss", "dev_loss",
    "dev_bleu",
)  # fmt: skip


class TrainingLog:
    """Rows of log.csv: one per saved state; dev columns only after a validation."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOG_FILE
        self._picture = directory / PICTURE_FILE

    def rewind(self, step: int) -> None:
        """Drop the rows after `step`; a resumed run writes them again."""
        self._write([row for row in self.rows() if int(row["step"]) <= step])

    def append(self, values: dict[str, float]) -> None:
        """Append a row. Raises OSError if the disk is full; the log is unchanged then."""
        self._write([*self.rows(), {name: _short(value) for name, value in values.items()}])

    def rows(self) -> list[dict[str, str]]:
        """Raises TrainingError if the file is damaged."""
        if not self._path.exists():
            return []
        try:
            with self._path.open(newline="", encoding="utf-8") as file:
                return [_checked(row) for row in csv.DictReader(file)]
        except (ValueError, csv.Error) as error:
            raise damaged(self._path, error) from error

    def _write(self, rows: Sequence[dict[str, str]]) -> None:
        with replacing(self._path) as path, path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)

    def draw(self) -> None:
        """Plot loss and BLEU over steps next to the log."""
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
        with replacing(self._picture) as path:
            figure.savefig(path, dpi=120, format="png")


def _points(rows: Sequence[dict[str, str]], name: str) -> tuple[list[int], list[float]]:
    present = [row for row in rows if row[name]]
    return [int(row["step"]) for row in present], [float(row[name]) for row in present]


def _checked(row: dict[str, str]) -> dict[str, str]:
    """Raises ValueError."""
    if set(row) != set(COLUMNS):
        raise ValueError(f"its columns must be {', '.join(COLUMNS)}")
    int(row["step"])
    for value in row.values():
        float(value or "0")
    return row


def _short(value: float) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
