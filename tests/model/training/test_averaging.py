"""The mean of checkpoints, and what has none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointError
from model.checkpoint.reference import load_checkpoint
from model.network.config import ModelConfig
from model.training.averaging import average_checkpoints
from tests.model.test_checkpoint import random_model, save


def save_random(directory: Path, config: ModelConfig, tokenizer: Path, seed: int) -> Path:
    save(directory, random_model(config, seed), tokenizer)
    return directory


def test_every_weight_is_the_mean(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    sources = [
        save_random(tmp_path / str(seed), tiny_config, tiny_tokenizer_file, seed)
        for seed in (1, 2, 3)
    ]
    average_checkpoints(sources, tmp_path / "mean")
    models = [load_checkpoint(source).model.weights for source in sources]
    for name, weight in load_checkpoint(tmp_path / "mean").model.weights.items():
        mean = torch.stack([model[name] for model in models]).mean(0)
        torch.testing.assert_close(weight, mean, atol=1e-3, rtol=1e-3)


def test_what_has_no_mean_is_refused_and_nothing_is_left(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    wide = dataclasses.replace(tiny_config, d_ff=2 * tiny_config.d_ff)
    one = save_random(tmp_path / "one", tiny_config, tiny_tokenizer_file, 1)
    other = save_random(tmp_path / "other", wide, tiny_tokenizer_file, 1)
    with pytest.raises(CheckpointError, match="different architectures"):
        average_checkpoints([one, other], tmp_path / "mean")
    with pytest.raises(CheckpointError, match="exists already"):
        average_checkpoints([one, one], other)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other"}
