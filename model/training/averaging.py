"""The mean of several models that began as one: of a run's last snapshots, or of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from model.checkpoint import WEIGHTS_FILE, CheckpointError, open_checkpoint, save_checkpoint


def average_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each weight over several files (Vaswani et al. 2017, section 6.1), in float32."""
    total: dict[str, Tensor] = {}
    for file in files:
        for name, weight in load_file(file).items():
            total[name] = total[name] + weight.float() if name in total else weight.float()
    return {name: weight / len(files) for name, weight in total.items()}


def average_checkpoints(sources: Sequence[Path], destination: Path) -> None:
    """Write the mean of checkpoints that were trained from the same one (Wortsman et al. 2022),
    described as the first, in float16.

    Raises CheckpointError if they differ in anything but their weights.
    """
    if destination.exists():
        raise CheckpointError(f"{destination} exists already; name another directory")
    first, *others = [open_checkpoint(source).info for source in sources]
    files = sorted({first.tokenizer.source, first.tokenizer.target})
    for source, info in zip(sources[1:], others, strict=True):
        is_like = (info.architecture, info.pairs) == (first.architecture, first.pairs)
        if not is_like or any(_differ(sources[0] / name, source / name) for name in files):
            raise CheckpointError(
                f"{source} and {sources[0]} have different architectures, languages or tokenizers"
            )
    weights = average_weights([source / WEIGHTS_FILE for source in sources])
    save_checkpoint(
        destination, first, weights, [sources[0] / name for name in files], torch.float16
    )


def _differ(first: Path, second: Path) -> bool:
    return not second.is_file() or first.read_bytes() != second.read_bytes()
