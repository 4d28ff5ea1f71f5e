"""What a run begins with, and what it refuses before its first step."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.checkpoint import load_checkpoint
from model.training.loop import Trainer
from model.training.recipe import CorpusTable, Recipe, RecipeError
from tests.conftest import FullDisk
from tests.model.test_checkpoint import sign_again

MakeRecipe = Callable[..., Recipe]
MakeTrainer = Callable[..., Trainer]
StartRun = Callable[..., Trainer]
CPU = torch.device("cpu")


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


def test_frozen_layers_and_the_embeddings_stay_those_of_the_start(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = make_recipe()
    deep = replace(recipe, model={**recipe.model, "n_encoder_layers": 2})
    before = Trainer(deep, tmp_path / "first", "cpu").run()
    frozen = replace(deep.training, start=before, frozen_layers=1)
    after = Trainer(replace(deep, training=frozen), tmp_path / "second", "cpu").run()
    old, new = (load_checkpoint(path).model.weights for path in (before, after))
    changed = {name for name in old if not torch.equal(old[name], new[name])}
    assert {name.partition(".")[0] for name in changed} == {"encoder", "decoder"}
    assert not any(name.startswith("encoder.0.") for name in changed)


def test_a_run_with_frozen_layers_resumes(
    make_recipe: MakeRecipe, make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    start = make_trainer().run()
    recipe = make_recipe(start=start, frozen_layers=1, max_steps=4, save_every=2)
    whole = Trainer(recipe, tmp_path / "whole", "cpu").run()
    halved = replace(recipe, training=replace(recipe.training, max_steps=2))
    Trainer(halved, tmp_path / "halved", "cpu").run()
    resumed = Trainer(recipe, tmp_path / "halved", "cpu")
    assert resumed.progress.step == 2
    weights = (load_checkpoint(path).model.weights for path in (whole, resumed.run()))
    assert all(torch.equal(*pair) for pair in zip(*(w.values() for w in weights), strict=True))


def test_training_on_a_gpu_computes_as_serving_does(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    """Also where there is no GPU, so that the run cannot start."""
    torch.backends.cuda.enable_cudnn_sdp(True)
    with contextlib.suppress(RuntimeError, AssertionError, ValueError):
        Trainer(make_recipe(max_steps=1), tmp_path / "run", "cuda")
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_a_disk_that_is_full_from_the_start_is_said(
    tmp_path: Path, make_recipe: MakeRecipe, full_disk: FullDisk
) -> None:
    with full_disk(1000), pytest.raises(ValueError, match="File too large|cannot build this voc"):
        Trainer(make_recipe(), tmp_path / "run", CPU)
    assert not (tmp_path / "run" / "sentencepiece.model").exists()
    Trainer(make_recipe(max_steps=1), tmp_path / "run", CPU).run()


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
    start_run: StartRun,
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
    with pytest.raises(RecipeError, match=said):
        start_run(recipe)


def test_an_epoch_that_would_not_fit_into_memory_is_refused_at_the_start(
    start_run: StartRun, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    recipe = make_recipe()
    heavy = replace(recipe.data, corpora=(CorpusTable("tiny", tiny_pairs, weight=1e6),))
    said = "an epoch has 600000000 pairs, and at most 200000000 are allowed; lower the weights"
    with pytest.raises(RecipeError, match=said):
        start_run(replace(recipe, data=heavy))


def test_a_network_that_would_not_fit_into_memory_is_refused_at_the_start(
    start_run: StartRun, make_recipe: MakeRecipe
) -> None:
    recipe = make_recipe()
    model = {**recipe.model, "d_model": 16384, "d_ff": 131072, "n_encoder_layers": 256}
    with pytest.raises(RecipeError, match=r"the model of the recipe takes \d+.\d GiB of memory"):
        start_run(replace(recipe, model=model))


def test_training_without_a_single_usable_pair_is_refused(
    start_run: StartRun, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    recipe = make_recipe()
    nothing = replace(recipe.data, corpora=(CorpusTable("tiny", tiny_pairs, weight=0.0),))
    with pytest.raises(RecipeError, match="no sentence pair is left to train on"):
        start_run(replace(recipe, data=nothing))
