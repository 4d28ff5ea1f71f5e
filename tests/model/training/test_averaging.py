"""The mean of checkpoints, and what has none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointError, open_checkpoint, verify_sums
from model.checkpoint.files import WEIGHTS_FILE
from model.checkpoint.reference import load_checkpoint
from model.checkpoint.saving import in_int8
from model.network.config import ModelConfig
from model.training.averaging import average_checkpoints
from tests.model.network.reference import run_to_end, tiny_runner
from tests.model.test_checkpoint import random_model, save
from tests.model.test_runner import mixed_sentences


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


def test_a_copy_in_int8_is_smaller_and_int8_computes_exactly_the_same_with_it(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    source = save_random(tmp_path / "source", tiny_config, tiny_tokenizer_file, 1)
    half, int8, again = (tmp_path / name for name in ("half", "int8", "again"))
    average_checkpoints([source], half)
    average_checkpoints([half], int8, is_int8=True)
    average_checkpoints([int8], again, is_int8=True)
    verify_sums(int8)
    weights = [(directory / WEIGHTS_FILE).read_bytes() for directory in (half, int8, again)]
    assert len(weights[1]) < len(weights[0])
    assert weights[1] == weights[2]
    expected, found = (
        run_to_end(
            tiny_runner(open_checkpoint(directory).model, precision="int8"), mixed_sentences(8, 1)
        )
        for directory in (half, int8)
    )
    assert expected == found


def test_ties_fall_away_from_zero_in_int8_as_in_the_native_backend() -> None:
    weight = torch.tensor([[127.0, 0.5, -0.5, 1.5, 2.5, -2.5], [0.0] * 6])
    stored = in_int8({"encoder.0.linear.weight": weight, "src_embedding.tokens.weight": weight})
    codes, scales = stored.values()
    assert codes.tolist() == [[127, 1, -1, 2, 3, -3], [0] * 6]
    assert scales.tolist() == [1.0, 0.0]


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
