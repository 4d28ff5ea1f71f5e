"""A training run: resumable without a trace, averaged at the end, stopped when it stalls."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from model.checkpoint.reference import load_checkpoint
from model.training import loop
from model.training.loop import train
from model.training.run_files import TrainingError
from model.trials.checkpoint import check_checkpoint
from tests.model.training.conftest import MakeTrainer, kill_after, weights_of


@pytest.mark.parametrize("killed_after", [1, 5])
def test_a_resumed_run_ends_exactly_like_an_unbroken_one(
    make_trainer: MakeTrainer, killed_after: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """States are saved every second step; dropout is on, so the random state counts too."""
    long: dict[str, Any] = {"max_steps": 9, "batch_tokens": 8000, "accumulate": 2, "save_every": 2}
    unbroken = make_trainer("unbroken", **long)
    unbroken.run()
    assert unbroken.progress.epoch >= 2
    assert capsys.readouterr().err.count("<?, ?step/s]") == 1  # one bar, not one for each epoch
    kill_after(make_trainer("broken", **long), killed_after)
    resumed = make_trainer("broken", **long)
    assert resumed.progress.step == killed_after // 2 * 2
    resumed.run()
    ends = [(p.step, p.epoch, p.tokens) for p in (resumed.progress, unbroken.progress)]
    assert ends[0] == ends[1]
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name
    averaged = load_file(unbroken.directory / "checkpoint" / "model.safetensors")
    for name, weight in load_file(resumed.directory / "checkpoint" / "model.safetensors").items():
        assert torch.equal(weight, averaged[name]), name


TINY = """
[model]
d_model = 16
n_heads = 2
d_ff = 32
n_encoder_layers = 1
n_decoder_layers = 1
max_positions = 64
[tokenizer]
vocab_size = 450
[data]
languages = ["zh", "en"]
max_tokens = 60
[[data.corpora]]
name = "tiny"
train = "{corpus}"
[training]
max_steps = 2
batch_tokens = 3000
precision = "float32"
save_every = 1
validate_every = 1
average_last = 1
[[stages]]
name = "first"
[[stages]]
name = "second"
start = "first"
training.seed = 2
[[stages]]
name = "mean"
mean = ["first", "second"]
"""


def test_stages_are_run_in_order_and_finished_ones_not_again(
    tmp_path: Path, tiny_pairs: Path
) -> None:
    recipe, run = tmp_path / "tiny.toml", tmp_path / "run"
    recipe.write_text(TINY.format(corpus=tiny_pairs), encoding="utf-8")
    assert train(recipe, run, "cpu") == run / "mean" / "checkpoint"
    first, second, mean = (
        load_file(run / name / "checkpoint" / "model.safetensors")
        for name in ("first", "second", "mean")
    )
    for name, weight in mean.items():
        torch.testing.assert_close(weight, (first[name].float() + second[name]).half() / 2)
    shutil.rmtree(run / "second")
    state = run / "first" / "state.pt"
    before = state.stat().st_mtime_ns
    assert train(recipe, run, "cpu") == run / "mean" / "checkpoint"
    assert state.stat().st_mtime_ns == before
    again = load_file(run / "second" / "checkpoint" / "model.safetensors")
    assert all(torch.equal(second[name], weight) for name, weight in again.items())


def test_the_checkpoint_is_the_mean_of_the_last_snapshots_and_describes_the_recipe(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer()
    directory = trainer.run()
    info = load_checkpoint(directory).info
    assert (info.name, info.pairs) == ("tiny", (("zh", "en"), ("en", "zh")))
    assert (info.architecture.d_model, info.decoding.beam_size) == (16, 2)
    assert info.max_source_tokens == 62
    assert check_checkpoint(directory).num_sentences == 2
    files = sorted(trainer.directory.glob("snapshot-*"))
    snapshots = [load_file(file) for file in files]
    assert len(snapshots) == 2
    for name, weight in load_checkpoint(directory).model.weights.items():
        mean = (snapshots[0][name] + snapshots[1][name]) / 2
        assert torch.equal(weight, mean.half().float()), name


def test_training_stops_when_bleu_has_not_risen_for_patience_validations(
    make_trainer: MakeTrainer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bleus = iter([3.0, 5.0, 5.0, 4.0, 9.0])
    monkeypatch.setattr(loop, "dev_bleu", lambda *_: next(bleus))
    trainer = make_trainer(max_steps=100, save_every=2, validate_every=4, patience=2)
    trainer.run()
    assert trainer.progress.step == 16
    with (trainer.directory / "log.csv").open(newline="") as file:
        bleu = [row["dev_bleu"] for row in csv.DictReader(file)]
    assert bleu == ["", "3", "", "5", "", "5", "", "4"]
    told = re.findall(r"step (\d+): dev loss [\d.]+, dev BLEU ([\d.]+)", capsys.readouterr().err)
    assert told == [("4", "3.00"), ("8", "5.00"), ("12", "5.00"), ("16", "4.00")]


def test_a_run_that_diverges_says_so_and_keeps_its_last_good_state(
    make_trainer: MakeTrainer,
) -> None:
    """A rate of 10^25 makes the loss infinite within steps; the state of step 2 is not."""
    kill_after(make_trainer(), 3)
    trainer = make_trainer(rate_factor=1e25, warmup_steps=1, max_steps=100)
    said = r"training has diverged at step \d+: .* training.rate_factor, .*; step (\d+) is saved in"
    with pytest.raises(TrainingError, match=said) as raised:
        trainer.run()
    assert "nan" in str(raised.value) or "inf" in str(raised.value) or "finite" in str(raised.value)
    again = make_trainer()
    assert again.progress.step >= 2
    assert all(weight.isfinite().all() for weight in weights_of(again).values())
