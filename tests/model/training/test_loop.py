"""A training run: resumable without a trace, averaged at the end, stopped when it stalls."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model.checkpoint import load_checkpoint
from model.training import loop
from model.training.averaging import average_weights
from model.training.data import Examples
from model.training.loop import Trainer
from model.training.recipe import CorpusTable, Recipe, RecipeError

MakeRecipe = Callable[..., Recipe]
MakeTrainer = Callable[..., Trainer]
CPU = torch.device("cpu")


class KilledError(Exception):
    """Stands for a process that ends without warning."""


@pytest.fixture
def make_trainer(tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe) -> MakeTrainer:
    """A trainer in a named directory under tmp_path that already holds the tiny tokenizer."""

    def make(name: str = "run", **changes: Any) -> Trainer:
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        shutil.copyfile(tiny_tokenizer_file, directory / loop.TOKENIZER_FILE)
        return Trainer(make_recipe(**changes), directory, CPU)

    return make


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


def logged(trainer: Trainer, *columns: str) -> list[list[str]]:
    with (trainer.directory / "log.csv").open(newline="") as file:
        return [[row[column] for column in columns] for row in csv.DictReader(file)]


@pytest.mark.parametrize("killed_after", [1, 2, 3, 5])
def test_a_resumed_run_ends_exactly_like_an_unbroken_one(
    make_trainer: MakeTrainer, killed_after: int
) -> None:
    """States are saved every second step; dropout is on, so the random state counts too."""
    unbroken = make_trainer("unbroken")
    unbroken.run()
    kill_after(make_trainer("broken"), killed_after)
    resumed = make_trainer("broken")
    assert resumed.progress.step == killed_after // 2 * 2
    resumed.run()
    assert resumed.progress.step == unbroken.progress.step == 6
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name
    averaged = load_file(unbroken.directory / "checkpoint" / "model.safetensors")
    for name, weight in load_file(resumed.directory / "checkpoint" / "model.safetensors").items():
        assert torch.equal(weight, averaged[name]), name


def test_a_resumed_run_crosses_epochs_like_an_unbroken_one(make_trainer: MakeTrainer) -> None:
    long: dict[str, Any] = {"max_steps": 9, "batch_tokens": 8000, "accumulate": 2, "save_every": 2}
    unbroken = make_trainer("unbroken", **long)
    unbroken.run()
    assert unbroken.progress.epoch >= 2
    kill_after(make_trainer("broken", **long), 5)
    resumed = make_trainer("broken", **long)
    resumed.run()
    assert resumed.progress.epoch == unbroken.progress.epoch
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name


def test_a_resumed_run_samples_like_an_unbroken_one(make_trainer: MakeTrainer) -> None:
    unbroken = make_trainer("unbroken", scheduled_sampling=0.8)
    unbroken.run()
    kill_after(make_trainer("broken", scheduled_sampling=0.8), 3)
    resumed = make_trainer("broken", scheduled_sampling=0.8)
    resumed.run()
    plain = make_trainer("plain")
    plain.run()
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name
    assert any(not torch.equal(weights_of(plain)[n], w) for n, w in weights_of(unbroken).items())


def test_a_finished_checkpoint_wants_sentences_cut_at_what_training_saw(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer()
    assert load_checkpoint(trainer.run()).info.max_source_tokens == 62


def test_log_rows_after_the_saved_state_are_rewound(make_trainer: MakeTrainer) -> None:
    """Killed between writing the log and saving the state, a step is logged once all the same."""
    trainer = make_trainer()
    kill_after(trainer, 4)
    trainer.log.append({"step": 6, "train_loss": 99.0})
    resumed = make_trainer()
    assert logged(resumed, "step") == [["2"], ["4"]]
    resumed.run()
    assert logged(resumed, "step") == [["2"], ["4"], ["6"]]


def test_snapshots_after_the_saved_state_are_dropped(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    kill_after(trainer, 4)
    shutil.copyfile(trainer._snapshot(4), trainer._snapshot(6))
    make_trainer()
    assert sorted(trainer.directory.glob("snapshot-*")) == [
        trainer._snapshot(2),
        trainer._snapshot(4),
    ]


def test_the_checkpoint_is_the_mean_of_the_last_snapshots(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    directory = trainer.run()
    snapshots = [load_file(trainer._snapshot(step)) for step in (4, 6)]
    for name, weight in load_checkpoint(directory).model.weights.items():
        mean = (snapshots[0][name] + snapshots[1][name]) / 2
        assert torch.equal(weight, mean.half().float()), name
    assert not trainer._snapshot(2).exists()


def test_an_average_is_the_mean_of_each_weight(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.safetensors" for i in range(3)]
    for i, path in enumerate(paths):
        save_file({"a": torch.full((2,), float(i)), "b": torch.tensor([10.0 * i**2])}, path)
    mean = average_weights(paths)
    assert {name: weight.tolist() for name, weight in mean.items()} == {
        "a": [1.0, 1.0],
        "b": [pytest.approx(50 / 3)],
    }


def test_the_finished_checkpoint_describes_the_recipe(make_trainer: MakeTrainer) -> None:
    info = load_checkpoint(make_trainer().run()).info
    assert (info.name, info.pairs) == ("tiny", (("zh", "en"), ("en", "zh")))
    assert (info.architecture.d_model, info.decoding.beam_size) == (16, 2)


def test_a_run_may_start_from_a_checkpoint_of_its_own_architecture(
    make_recipe: MakeRecipe, make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    first = make_trainer()
    finished = first.run()
    recipe = make_recipe(start=finished)
    second = Trainer(recipe, tmp_path / "second", "cpu")
    for name, weight in load_checkpoint(finished).model.weights.items():
        assert torch.equal(second.model.weights[name], weight), name
    assert second.progress.step == 0
    vocabularies = [(t.directory / "sentencepiece.model").read_bytes() for t in (first, second)]
    assert vocabularies[0] == vocabularies[1]
    other = replace(recipe, model={**recipe.model, "d_ff": 64})
    with pytest.raises(RecipeError, match="its d_ff is 32, the recipe's 64"):
        Trainer(other, tmp_path / "third", "cpu")


def test_a_finished_run_is_not_trained_further(make_trainer: MakeTrainer) -> None:
    first = make_trainer()
    first.run()
    again = make_trainer()
    again.run()
    assert again.progress == first.progress
    assert logged(again, "step") == [["2"], ["4"], ["6"]]


def test_the_dev_loss_falls(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "dev_bleu", lambda *_: 0.0)
    trainer = make_trainer(max_steps=30, save_every=10, validate_every=10, rate_factor=0.1)
    trainer.run()
    losses = [float(loss) for (loss,) in logged(trainer, "dev_loss")]
    assert losses[0] > losses[1] > losses[2]


def gradient_of(
    trainer: Trainer, group: list[Examples], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Tensor]:
    """What one optimiser step over the group would apply."""
    captured: dict[str, Tensor] = {}

    def capture() -> None:
        for name, parameter in trainer.model.named_parameters():
            assert parameter.grad is not None
            captured[name] = parameter.grad.clone()

    monkeypatch.setattr(trainer.optimiser, "step", capture)
    trainer._optimise(group)
    return captured


def test_accumulated_batches_have_the_gradient_of_one_large_batch(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean is taken over the real tokens of the whole group, not of each batch."""
    trainer = make_trainer(clip_norm=0.0)
    for module in trainer.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    small = trainer.train_batches.epoch(1, 0)[:2]
    large = Examples(*(np.concatenate(column) for column in zip(*small, strict=True)))
    accumulated = gradient_of(trainer, small, monkeypatch)
    at_once = gradient_of(trainer, [large], monkeypatch)
    for name, gradient in at_once.items():
        torch.testing.assert_close(accumulated[name], gradient, atol=1e-6, rtol=1e-4)


def test_a_gradient_longer_than_clip_norm_is_scaled_down_to_it(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms = []
    for name, clip_norm in (("free", 0.0), ("clipped", 0.01)):
        trainer = make_trainer(name, clip_norm=clip_norm)
        group = trainer.train_batches.epoch(1, 0)[:1]
        gradients = gradient_of(trainer, group, monkeypatch).values()
        norms.append(torch.stack([gradient.norm() for gradient in gradients]).norm().item())
    assert norms[0] > 0.1
    assert norms[1] == pytest.approx(0.01, rel=1e-3)


def test_training_stops_when_bleu_has_not_risen_for_patience_validations(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bleus = iter([3.0, 5.0, 5.0, 4.0, 9.0])
    monkeypatch.setattr(loop, "dev_bleu", lambda *_: next(bleus))
    trainer = make_trainer(max_steps=100, save_every=2, validate_every=4, patience=2)
    trainer.run()
    assert trainer.progress.step == 16
    bleu = [value for (value,) in logged(trainer, "dev_bleu")]
    assert bleu == ["", "3", "", "5", "", "5", "", "4"]


def test_patience_of_zero_never_stops_early(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "dev_bleu", lambda *_: 0.0)
    trainer = make_trainer(max_steps=8, validate_every=2, patience=0)
    trainer.run()
    assert trainer.progress.step == 8


def test_validation_leaves_training_as_it_was(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "dev_bleu", lambda *_: 0.0)
    validated = make_trainer("validated", validate_every=2)
    validated.run()
    plain = make_trainer("plain")
    plain.run()
    for name, weight in weights_of(plain).items():
        assert torch.equal(weights_of(validated)[name], weight), name


def test_word_vectors_are_where_training_starts(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe
) -> None:
    (tmp_path / "vectors.txt").write_text("tea " + " ".join(["0.5"] * 16) + "\n")
    recipe = make_recipe()
    table = replace(recipe.tokenizer, word_vectors=tmp_path / "vectors.txt")
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / loop.TOKENIZER_FILE)
    trainer = Trainer(replace(recipe, tokenizer=table), tmp_path / "run", CPU)
    ids = trainer.tokenizer.encode_target_batch(["tea"])[0]
    assert torch.equal(trainer.model.tgt_embedding.tokens.weight[ids[-1]], torch.full((16,), 0.5))


def test_training_without_a_single_usable_pair_is_refused(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    recipe = make_recipe()
    nothing = replace(recipe.data, corpora=(CorpusTable("tiny", tiny_pairs, weight=0.0),))
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / loop.TOKENIZER_FILE)
    with pytest.raises(RecipeError, match="no sentence pair is left to train on"):
        Trainer(replace(recipe, data=nothing), tmp_path / "run", CPU).run()


@pytest.mark.parametrize("positions", ["sinusoidal", "alibi"])
def test_half_precision_trains_every_kind_of_position(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe, positions: str
) -> None:
    recipe = make_recipe(precision="bfloat16", max_steps=2)
    recipe = replace(recipe, model={**recipe.model, "positions": positions})
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / loop.TOKENIZER_FILE)
    trainer = Trainer(recipe, tmp_path / "run", CPU)
    trainer.run()
    assert all(weight.isfinite().all() for weight in weights_of(trainer).values())
