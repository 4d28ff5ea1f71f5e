"""The files of a training run: one process at a time writes them, and each write is atomic."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from model.checkpoint import StoredWeights, save_weights
from model.files import is_regular, reason_of, replacing

LOCK_FILE = ".lock"


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
    """Raises TrainingError if there is none, and OSError if the disk is full."""
    if not is_regular(source):
        raise TrainingError(f"there is no tokenizer at {source}")
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)
