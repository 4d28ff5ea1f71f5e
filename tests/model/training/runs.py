"""Training runs for the tests: killed, and compared by their weights and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from model.training.loop import Trainer
from model.training.recipe import Recipe

MakeRecipe = Callable[..., Recipe]
StartRun = Callable[..., Trainer]
MakeTrainer = Callable[..., Trainer]


class KilledError(Exception):
    """Stands for a process that ends without warning."""


def kill_after(trainer: Trainer, step: int) -> None:
    """Run until `step` optimiser steps are done, then die."""
    optimise = trainer._optimise

    def counted(group: Any) -> tuple[float, int]:
        if trainer.progress.step == step:
            raise KilledError
        return optimise(group)

    trainer._optimise = counted  # type: ignore[method-assign]
    with pytest.raises(KilledError):
        trainer.run()


def weights_of(trainer: Trainer) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in trainer.model.weights.items()}


def files_of(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file() and p.stat().st_size}
