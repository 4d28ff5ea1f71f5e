"""The self-test of a checkpoint passes as long as it translates as it did, and fails otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from model.checkpoint import CheckpointError, open_checkpoint
from model.checkpoint.bundled import BUNDLED_NAMES
from model.checkpoint.reference import load_checkpoint
from model.network.config import ModelConfig
from model.trials.checkpoint import TOLERANCE, add_self_test, check_checkpoint
from tests.model.test_checkpoint import (
    edit_config,
    edit_weights,
    random_model,
    save,
    sign_again,
    unlist,
)

BUNDLED = [Path("checkpoints") / name for name in BUNDLED_NAMES]
NUM_PARAMETERS = dict.fromkeys(BUNDLED_NAMES, 12_287_744)
QUERY, KEY = (f"decoder.0.memory_attention.{part}_proj.weight" for part in "qk")
NORM = "encoder_norm.weight"
Edit = Callable[[dict[str, Tensor]], Any]


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(BUNDLED[1], tmp_path / "en-de"))


@pytest.fixture
def saved(tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path) -> Path:
    directory = tmp_path / "tiny"
    save(directory, random_model(tiny_config), tiny_tokenizer_file)
    add_self_test(directory)
    return directory


@pytest.mark.parametrize("directory", BUNDLED, ids=str)
def test_the_bundled_checkpoints_translate_as_when_they_were_saved(directory: Path) -> None:
    result = check_checkpoint(directory)
    assert (result.name, result.num_files, result.num_sentences) == (directory.name, 4, 2)
    assert result.num_parameters == NUM_PARAMETERS[directory.name]
    assert result.largest_difference < TOLERANCE / 10


def test_a_self_test_has_a_translation_of_each_direction_as_text_and_as_ids(saved: Path) -> None:
    tokenizer = load_checkpoint(saved).tokenizer
    sentences = json.loads((saved / "self_test.json").read_text(encoding="utf-8"))
    assert [(s["source"], s["target"]) for s in sentences] == [("zh", "en"), ("en", "zh")]
    for s in sentences:
        assert s["source_ids"] == tokenizer.encode_source(s["text"], s["target"], s["source"])
        assert s["translation"] == tokenizer.decode(s["target_ids"])
        assert len(s["log_probs"]) == len(s["target_ids"]) > 0
    assert "self_test.json" in (saved / "SHA256SUMS").read_text()
    assert check_checkpoint(saved).largest_difference < 1e-3


def swap(weights: dict[str, Tensor]) -> None:
    weights[QUERY], weights[KEY] = weights[KEY], weights[QUERY]


@pytest.mark.parametrize("edit", [swap, lambda w: w.update({NORM: w[NORM] * 1.2})])
def test_weights_that_fit_but_are_wrong_fail_the_self_test(bundled: Path, edit: Edit) -> None:
    edit_weights(bundled, edit)
    open_checkpoint(bundled)
    with pytest.raises(CheckpointError, match="self_test.json: the weights translate .* otherwise"):
        check_checkpoint(bundled)


def test_another_tokenizer_fails_the_self_test(bundled: Path) -> None:
    edit_config(bundled, lambda raw: raw["tokenizer"].update(tags={"de": "<2en>", "en": "<2de>"}))
    with pytest.raises(CheckpointError, match="self_test.json: the tokenizer cuts 'Iceland"):
        check_checkpoint(bundled)


def test_a_checkpoint_without_a_self_test_can_be_loaded_but_not_checked(saved: Path) -> None:
    (saved / "self_test.json").unlink()
    unlist("self_test.json")(saved)
    load_checkpoint(saved)
    with pytest.raises(CheckpointError, match="has no self_test.json .* `dragoman average "):
        check_checkpoint(saved)


@pytest.mark.parametrize("edit", [lambda raw: {}, lambda raw: [{**raw[0], "source_ids": [450]}]])
def test_a_self_test_that_is_none_is_refused(saved: Path, edit: Callable[[Any], Any]) -> None:
    path = saved / "self_test.json"
    path.write_text(json.dumps(edit(json.loads(path.read_text("utf-8")))), encoding="utf-8")
    sign_again(saved)
    with pytest.raises(CheckpointError, match=r"self_test.json.* must (have|hold)"):
        check_checkpoint(saved)
