"""A training run: resumable without a trace, averaged at the end, stopped when it stalls."""

from __future__ import annotations

import csv
import errno
import json
import os
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

from model import files
from model.checking import check_checkpoint
from model.checkpoint import load_checkpoint
from model.training import loop, optimiser_step
from model.training.averaging import average_weights
from model.training.data import Examples
from model.training.loop import Trainer
from model.training.optimisation import summed_loss
from model.training.recipe import CorpusTable, Recipe, RecipeError
from model.training.saving import TrainingError
from model.training.setup import TOKENIZER_FILE
from tests.conftest import FullDisk
from tests.model.test_checkpoint import sign_again

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
        shutil.copyfile(tiny_tokenizer_file, directory / TOKENIZER_FILE)
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
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    trainer = Trainer(replace(recipe, tokenizer=table), tmp_path / "run", CPU)
    ids = trainer.tokenizer.encode_target_batch(["tea"])[0]
    assert torch.equal(trainer.model.tgt_embedding.tokens.weight[ids[-1]], torch.full((16,), 0.5))


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


def test_weights_that_are_not_finite_are_never_saved(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    kill_after(trainer, 2)
    with torch.no_grad():
        trainer.model.tgt_embedding.tokens.weight[300] = float("inf")
    with pytest.raises(TrainingError, match="tokens.weight holds numbers that are not finite"):
        trainer._record()
    assert make_trainer().progress.step == 2


def test_a_gradient_that_is_not_finite_changes_no_weight(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(clip_norm=0.0)
    before = weights_of(trainer)

    def spoiled(*arguments: Any) -> tuple[Tensor, int]:
        loss, count = summed_loss(*arguments)
        return loss + (trainer.model.output.weight.sum() - 1e30).sqrt() * 0, count

    monkeypatch.setattr(optimiser_step, "summed_loss", spoiled)
    with pytest.raises(TrainingError, match="diverged at step 1: .*nothing is saved yet"):
        trainer.run()
    for name, weight in weights_of(trainer).items():
        assert torch.equal(weight, before[name]), name


def files_of(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file() and p.stat().st_size}


@pytest.mark.parametrize("size", [500, 20_000, 150_000])
def test_a_full_disk_leaves_the_last_state_whole(
    make_trainer: MakeTrainer, full_disk: FullDisk, size: int
) -> None:
    """Whether the log, the snapshot or the state no longer finds room."""
    unbroken = make_trainer("unbroken")
    unbroken.run()
    trainer = make_trainer("broken")
    kill_after(trainer, 2)
    trainer = make_trainer("broken")
    before = files_of(trainer.directory)
    said = "cannot read or write .*: File too large; step 2 is saved in .*, and the same command"
    with full_disk(size), pytest.raises(TrainingError, match=said):
        trainer.run()
    after = files_of(trainer.directory)
    assert {name for name in after if "partial" in name or "tmp" in name} == set()
    assert {name: after[name] for name in before if name.endswith((".pt", ".safetensors"))} == {
        name: content for name, content in before.items() if name.endswith((".pt", ".safetensors"))
    }
    resumed = make_trainer("broken")
    assert resumed.progress.step == 2
    resumed.run()
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name


def test_a_disk_that_is_full_when_the_state_reaches_it_leaves_the_last_one_whole(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC itself, where some file systems first tell it."""
    kill_after(make_trainer(), 2)
    trainer = make_trainer()
    before = (trainer.directory / "state.pt").read_bytes()

    def full(path: Path) -> None:
        if "state" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(files, "_flush", full)
    with pytest.raises(TrainingError, match="No space left on device; step 2 is saved"):
        trainer.run()
    assert (trainer.directory / "state.pt").read_bytes() == before
    assert not list(trainer.directory.glob(".*partial"))


def test_a_full_disk_at_the_end_leaves_the_checkpoint_that_was_there(
    make_trainer: MakeTrainer, full_disk: FullDisk
) -> None:
    trainer = make_trainer()
    checkpoint = trainer.run()
    before = files_of(checkpoint)
    again = make_trainer()
    with full_disk(1000), pytest.raises(TrainingError, match="File too large; step 6 is saved"):
        again.run()
    assert files_of(checkpoint) == before
    check_checkpoint(checkpoint)


def test_a_disk_that_is_full_from_the_start_is_said(
    tmp_path: Path, make_recipe: MakeRecipe, full_disk: FullDisk
) -> None:
    with full_disk(1000), pytest.raises(ValueError, match="File too large|cannot build this voc"):
        Trainer(make_recipe(), tmp_path / "run", CPU)
    assert not (tmp_path / "run" / "sentencepiece.model").exists()
    Trainer(make_recipe(max_steps=1), tmp_path / "run", CPU).run()


def test_two_runs_in_one_directory_are_refused(make_trainer: MakeTrainer) -> None:
    """The second would delete the snapshots that the first one writes."""
    first = make_trainer()
    with pytest.raises(TrainingError, match="another process trains in .*run; wait for it or name"):
        make_trainer()
    first.run()
    make_trainer().run()


def test_a_run_that_cannot_begin_leaves_its_directory_free(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer()
    trainer.run()
    state = trainer.directory / "state.pt"
    whole = state.read_bytes()
    state.write_bytes(b"junk")
    with pytest.raises(TrainingError, match="state.pt is damaged"):
        make_trainer()
    state.write_bytes(whole)
    assert make_trainer().progress.step == 6


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def replaced(path: Path) -> None:
    torch.save([1, 2], path)


def lacking(path: Path) -> None:
    torch.save({"progress": {}}, path)


def of_another_network(path: Path) -> None:
    state = torch.load(path)
    state["model"].pop(next(iter(state["model"])))
    torch.save(state, path)


def of_wrong_progress(path: Path) -> None:
    state = torch.load(path)
    state["progress"]["step"] = "x"
    torch.save(state, path)


@pytest.mark.parametrize(
    "damage", [truncated, emptied, replaced, lacking, of_another_network, of_wrong_progress]
)
def test_a_damaged_state_is_refused_in_one_line(
    make_trainer: MakeTrainer, damage: Callable[[Path], None]
) -> None:
    trainer = make_trainer()
    kill_after(trainer, 3)
    damage(trainer.directory / "state.pt")
    before = files_of(trainer.directory)
    said = "state.pt is damaged or of another recipe .*; restore it, or remove the run's directory"
    with pytest.raises(TrainingError, match=said) as raised:
        make_trainer()
    assert len(str(raised.value).splitlines()) == 1
    assert files_of(trainer.directory) == before


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "step,epoch\nx,y\n", "\0\n\0\n"])
def test_a_damaged_log_is_refused_or_begun_again(make_trainer: MakeTrainer, content: str) -> None:
    trainer = make_trainer()
    kill_after(trainer, 3)
    (trainer.directory / "log.csv").write_text(content)
    if not content:
        make_trainer().run()
        return
    with pytest.raises(TrainingError, match="log.csv is damaged"):
        make_trainer()


def test_a_damaged_vocabulary_is_refused(
    make_trainer: MakeTrainer, make_recipe: MakeRecipe
) -> None:
    trainer = make_trainer()
    trainer.run()
    (trainer.directory / "sentencepiece.model").write_bytes(b"junk")
    with pytest.raises(TrainingError, match="sentencepiece.model is damaged"):
        Trainer(make_recipe(), trainer.directory, CPU)


@pytest.mark.parametrize("damage", ["removed", "truncated", "of another network"])
def test_the_mean_of_damaged_snapshots_is_not_taken(make_trainer: MakeTrainer, damage: str) -> None:
    trainer = make_trainer()
    checkpoint = trainer.run()
    before = files_of(checkpoint)
    for snapshot in trainer._snapshots():
        if damage == "removed":
            snapshot.unlink()
        elif damage == "truncated":
            truncated(snapshot)
        else:
            save_file({"a": torch.ones(2)}, snapshot)
    said = "holds no snapshot" if damage == "removed" else "snapshot-.* is damaged"
    with pytest.raises(TrainingError, match=said):
        make_trainer().run()
    assert files_of(checkpoint) == before


def test_the_finished_checkpoint_has_a_self_test(make_trainer: MakeTrainer) -> None:
    assert check_checkpoint(make_trainer().run()).num_sentences == 2


def test_a_run_does_not_start_from_an_imported_vocabulary(
    make_recipe: MakeRecipe, make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    finished = make_trainer().run()
    pieces = load_checkpoint(finished).tokenizer.source_pieces
    (finished / "vocabulary.json").write_text(json.dumps(pieces), encoding="utf-8")
    raw = json.loads((finished / "config.json").read_text())
    raw["tokenizer"] |= {f"{side}_vocabulary": "vocabulary.json" for side in ("source", "target")}
    (finished / "config.json").write_text(json.dumps(raw))
    with (finished / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  vocabulary.json\n")
    sign_again(finished)
    with pytest.raises(RecipeError, match="training.start must be a checkpoint that was trained"):
        Trainer(make_recipe(start=finished), tmp_path / "second", CPU)


@pytest.mark.parametrize(
    ("dev", "max_tokens", "said"),
    [
        ("", 60, "the dev file of corpus 'tiny' has no pair whose sides have 1 to 60 tokens"),
        ("\t\n", 60, "the dev file of corpus 'tiny' has no pair whose sides have 1 to 60 tokens"),
        ("a b c d e f g\th\n", 3, "the dev file of corpus 'tiny' has no pair"),
    ],
)
def test_a_dev_file_with_nothing_to_validate_on_is_refused_at_the_start(
    tmp_path: Path,
    tiny_tokenizer_file: Path,
    make_recipe: MakeRecipe,
    tiny_pairs: Path,
    dev: str,
    max_tokens: int,
    said: str,
) -> None:
    (tmp_path / "dev.tsv").write_text(dev)
    recipe = make_recipe()
    corpora = (CorpusTable("tiny", tiny_pairs, tmp_path / "dev.tsv"),)
    recipe = replace(recipe, data=replace(recipe.data, corpora=corpora, max_tokens=max_tokens))
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    with pytest.raises(RecipeError, match=said):
        Trainer(recipe, tmp_path / "run", CPU)


def test_an_epoch_that_would_not_fit_into_memory_is_refused_at_the_start(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    recipe = make_recipe()
    heavy = replace(recipe.data, corpora=(CorpusTable("tiny", tiny_pairs, weight=1e6),))
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    said = "an epoch has 600000000 pairs, and at most 200000000 are allowed; lower the weights"
    with pytest.raises(RecipeError, match=said):
        Trainer(replace(recipe, data=heavy), tmp_path / "run", CPU)


def test_a_network_that_would_not_fit_into_memory_is_refused_at_the_start(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe
) -> None:
    recipe = make_recipe()
    model = {**recipe.model, "d_model": 16384, "d_ff": 131072, "n_encoder_layers": 256}
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    with pytest.raises(RecipeError, match=r"the model of the recipe takes \d+.\d GiB of memory"):
        Trainer(replace(recipe, model=model), tmp_path / "run", CPU)


def test_training_without_a_single_usable_pair_is_refused(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    recipe = make_recipe()
    nothing = replace(recipe.data, corpora=(CorpusTable("tiny", tiny_pairs, weight=0.0),))
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    with pytest.raises(RecipeError, match="no sentence pair is left to train on"):
        Trainer(replace(recipe, data=nothing), tmp_path / "run", CPU)


@pytest.mark.parametrize("positions", ["sinusoidal", "alibi"])
def test_half_precision_trains_every_kind_of_position(
    tmp_path: Path, tiny_tokenizer_file: Path, make_recipe: MakeRecipe, positions: str
) -> None:
    recipe = make_recipe(precision="bfloat16", max_steps=2)
    recipe = replace(recipe, model={**recipe.model, "positions": positions})
    (tmp_path / "run").mkdir()
    shutil.copyfile(tiny_tokenizer_file, tmp_path / "run" / TOKENIZER_FILE)
    trainer = Trainer(recipe, tmp_path / "run", CPU)
    trainer.run()
    assert all(weight.isfinite().all() for weight in weights_of(trainer).values())
