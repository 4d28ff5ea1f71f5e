"""The files of a training run: one process at a time writes them, and each write is atomic."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from model.checkpoint import StoredWeights
from model.checkpoint.saving import save_weights
from model.files import is_regular, reason_of, replacing

LOCK_FILE = ".lock"
LOG_FILE = "log.csv"
PICTURE_FILE = "curves.png"
COLUMNS = (
    "step", "epoch", "seconds", "tokens", "tokens_per_second", "rate", "train_loss", "dev_loss",
    "dev_bleu",
)  # fmt: skip


class TrainingError(ValueError):
    """The run cannot continue; the message says what happened and what is saved."""


class RunLock:
    """Locks a run's directory against other processes. The lock ends with the process, even
    after a crash."""

    def __init__(self, directory: Path) -> None:
        """Raises TrainingError if another process holds it, OSError if no file can be made."""
        self._lock = FileLock(directory / LOCK_FILE)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise TrainingError(
                f"another process trains in {directory}; wait for it or name another directory"
            ) from error

    def release(self) -> None:
        self._lock.release()


def save_state(state: dict[str, Any], path: Path) -> None:
    """Replace the state atomically. Raises OSError."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        torch.save(state, file)


def load_state(path: Path, device: torch.device) -> dict[str, Any]:
    """Read a state written by `save_state`; raises TrainingError."""
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # the reader raises almost anything on damage
        raise damaged(path, error) from error
    if not isinstance(state, dict):
        raise damaged(path, TypeError(f"it holds a {type(state).__name__}"))
    return state


def damaged(path: Path, error: Exception) -> TrainingError:
    """The error for a damaged file of the run."""
    reason = " ".join(reason_of(error).split())[:200] or type(error).__name__
    return TrainingError(
        f"{path} is damaged or of another recipe ({reason}); restore it, or remove the run's "
        "directory to train from the start"
    )


def save_snapshot(weights: dict[str, Tensor], path: Path) -> None:
    """Raises OSError; no partial file remains then."""
    with replacing(path) as temporary:
        save_weights(weights, temporary)


def require_snapshots(paths: list[Path], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises TrainingError unless there are snapshots, all intact and of this network."""
    if not paths:
        raise TrainingError("the run holds no snapshot to average; train it from the start")
    for path in paths:
        try:
            found = StoredWeights(path).shapes
        except ValueError as error:
            raise damaged(path, error) from error
        if found != shapes:
            raise damaged(path, ValueError("its weights have other names or shapes"))


def copy_tokenizer(source: Path, path: Path) -> None:
    """Raises TrainingError if they are missing, and OSError if the disk is full."""
    if not is_regular(source):
        raise TrainingError(f"there is no tokenizer at {source}")
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)


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
        figure.legend(loc="outside upper center", ncols=3)
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
