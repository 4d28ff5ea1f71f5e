"""Average models with a common start: the last snapshots of a run, or several runs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoint import (
    CheckpointError,
    CheckpointInfo,
    StoredWeights,
    open_checkpoint,
)
from model.checkpoint.files import WEIGHTS_FILE
from model.checkpoint.saving import save_checkpoint
from model.checkpoint.shortlist import SHORTLIST_FILE
from model.files import reason_of
from model.trials.checkpoint import add_self_test


def average_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each weight over several files (Vaswani et al. 2017, section 6.1), in float32.
    Raises CheckpointError."""
    total: dict[str, Tensor] = {}
    for file in files:
        for name, stored in StoredWeights(file).items():
            weight = torch.from_numpy(stored).float()
            total[name] = total[name] + weight if name in total else weight
    return {name: weight / len(files) for name, weight in total.items()}


def average_checkpoints(
    sources: Sequence[Path], destination: Path, *, is_int8: bool = False
) -> None:
    """Write, in float16, the mean of checkpoints trained from the same one (Wortsman et al. 2022),
    with the first one's description. `is_int8`: as of `save_checkpoint`.

    Raises CheckpointError if they differ in more than weights; nothing is written then.
    """
    try:
        if destination.exists():
            raise CheckpointError(f"{destination} exists already; name another directory")
        first = _common_info(sources)
        weights = average_weights([source / WEIGHTS_FILE for source in sources])
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".average-", dir=destination.parent) as scratch:
            finished = Path(scratch) / "checkpoint"
            names = [*first.tokenizer.files, SHORTLIST_FILE]
            files = [file for name in names if (file := sources[0] / name).exists()]
            save_checkpoint(finished, first, weights, files, torch.float16, is_int8=is_int8)
            add_self_test(finished)
            finished.rename(destination)
    except OSError as error:
        raise CheckpointError(f"cannot write {destination}: {reason_of(error)}") from error


def _common_info(sources: Sequence[Path]) -> CheckpointInfo:
    """The first checkpoint's description; raises CheckpointError."""
    first, *others = [open_checkpoint(source).info for source in sources]
    for source, info in zip(sources[1:], others, strict=True):
        is_like = (info.architecture, info.pairs) == (first.architecture, first.pairs)
        is_like = is_like and info.tokenizer == first.tokenizer
        if not is_like or any(
            (sources[0] / name).read_bytes() != (source / name).read_bytes()
            for name in first.tokenizer.files
        ):
            raise CheckpointError(
                f"{source} and {sources[0]} have different architectures, languages or tokenizers"
            )
    return first
