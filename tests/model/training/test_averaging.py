"""The mean of checkpoints, and what has none."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from model.checking import check_checkpoint
from model.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.training.averaging import average_checkpoints, average_weights
from tests.conftest import FullDisk
from tests.model.test_checkpoint import edit_weights, info_for, random_model, sign_again


def save_random(directory: Path, config: ModelConfig, tokenizer: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    model = Transformer(config)
    initialise(model, "xavier")
    save_checkpoint(directory, info_for(config), model.weights, [tokenizer], torch.float16)
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


def test_only_what_differs_is_rounded(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    one, two = (
        save_random(tmp_path / str(seed), tiny_config, tiny_tokenizer_file, seed) for seed in (1, 2)
    )
    same = "encoder.0.self_attention.q_proj.weight"
    kept = load_checkpoint(one).model.weights[same]
    edit_weights(two, lambda weights: weights.update({same: kept.half()}))
    average_checkpoints([one, two], tmp_path / "mean", is_rounded=True)
    average_checkpoints([one, two], tmp_path / "exact")
    rounded, exact = (load_checkpoint(tmp_path / name).model.weights for name in ("mean", "exact"))
    assert torch.equal(rounded[same], kept)
    for name, weight in rounded.items():
        assert torch.equal(weight, exact[name]) or torch.equal(weight, weight.bfloat16().float())
        torch.testing.assert_close(weight, exact[name], atol=1e-6, rtol=2**-7)
    assert any(not torch.equal(rounded[name], exact[name]) for name in rounded)


def test_what_differs_in_more_than_its_weights_is_refused(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    one = save_random(tmp_path / "one", tiny_config, tiny_tokenizer_file, 1)
    wide = dataclasses.replace(tiny_config, d_ff=2 * tiny_config.d_ff)
    two = save_random(tmp_path / "two", wide, tiny_tokenizer_file, 2)
    with pytest.raises(CheckpointError, match="different architectures"):
        average_checkpoints([one, two], tmp_path / "mean")
    with pytest.raises(CheckpointError, match="exists already"):
        average_checkpoints([one, one], two)
    assert not (tmp_path / "mean").exists()


def test_an_average_has_a_self_test_of_its_own(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    one, two = (
        save_random(tmp_path / str(seed), tiny_config, tiny_tokenizer_file, seed) for seed in (1, 2)
    )
    average_checkpoints([one, two], tmp_path / "mean")
    assert check_checkpoint(tmp_path / "mean").num_sentences == 2
    average_checkpoints([one], tmp_path / "copy")
    assert check_checkpoint(tmp_path / "copy").num_sentences == 2


def test_the_average_of_imported_checkpoints_has_their_vocabulary_files(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    """Left out, the average could not be loaded; different ones must not be mixed."""
    config = TokenizerConfig(
        "tiny.model", "tiny.model", "vocabulary.json", "vocabulary.json", tags={"en": "<2en>"}
    )
    sources = [tmp_path / "one", tmp_path / "two"]
    for directory in sources:
        save_with_vocabulary(directory, tiny_config, tiny_tokenizer_file, config)
    average_checkpoints(sources, tmp_path / "mean")
    assert load_checkpoint(tmp_path / "mean").info.tokenizer == config
    pieces = json.loads((sources[1] / "vocabulary.json").read_text(encoding="utf-8"))
    pieces[10], pieces[11] = pieces[11], pieces[10]
    (sources[1] / "vocabulary.json").write_text(json.dumps(pieces), encoding="utf-8")
    sign_again(sources[1])
    with pytest.raises(CheckpointError, match="different architectures, languages or tokenizers"):
        average_checkpoints(sources, tmp_path / "other")


def save_with_vocabulary(
    directory: Path, config: ModelConfig, tokenizer: Path, tokenizer_config: TokenizerConfig
) -> None:
    directory.mkdir()
    pieces = directory.parent / "vocabulary.json"
    pieces.write_text(json.dumps(Tokenizer(tokenizer, tokenizer).source_pieces), encoding="utf-8")
    info = dataclasses.replace(info_for(config), tokenizer=tokenizer_config)
    weights = random_model(config).weights
    save_checkpoint(directory, info, weights, [tokenizer, pieces], torch.float32)


@pytest.mark.parametrize("damage", ["truncated", "not finite", "missing"])
def test_damaged_sources_are_refused_and_nothing_is_left(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, damage: str
) -> None:
    one, two = (
        save_random(tmp_path / str(seed), tiny_config, tiny_tokenizer_file, seed) for seed in (1, 2)
    )
    weights = two / "model.safetensors"
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "missing":
        weights.unlink()
    else:
        edit_weights(
            two, lambda w: w["encoder.0.feed_forward_residual.norm.weight"].fill_(float("nan"))
        )
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(CheckpointError):
        average_checkpoints([one, two], tmp_path / "mean")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_full_disk_is_said_in_one_line_and_nothing_is_left(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, full_disk: FullDisk
) -> None:
    one = save_random(tmp_path / "one", tiny_config, tiny_tokenizer_file, 1)
    with full_disk(5000), pytest.raises(CheckpointError, match="cannot write .*mean: File too lar"):
        average_checkpoints([one, one], tmp_path / "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_an_average_is_the_mean_of_each_weight(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.safetensors" for i in range(3)]
    for i, path in enumerate(paths):
        save_file({"a": torch.full((2,), float(i)), "b": torch.tensor([10.0 * i**2])}, path)
    mean = average_weights(paths)
    assert {name: weight.tolist() for name, weight in mean.items()} == {
        "a": [1.0, 1.0],
        "b": [pytest.approx(50 / 3)],
    }
