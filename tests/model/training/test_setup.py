"""What a run begins with, and what it refuses before its first step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.checkpoint.reference import load_checkpoint
from model.text.tokenizer import Tokenizer
from model.training.loop import Trainer
from model.training.recipe import CorpusTable, DataTable, RecipeError
from model.training.setup import train_tokenizer
from tests.conftest import FullDisk
from tests.model.training.conftest import MakeRecipe, MakeTrainer, StartRun, kill_after


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


def test_frozen_layers_and_the_embeddings_stay_those_of_the_start_even_when_resumed(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = make_recipe()
    deep = replace(recipe, model={**recipe.model, "n_encoder_layers": 2})
    before = Trainer(deep, tmp_path / "first", "cpu").run()
    frozen = replace(deep, training=replace(deep.training, start=before, frozen_layers=1))
    kill_after(Trainer(frozen, tmp_path / "second", "cpu"), 3)
    after = Trainer(frozen, tmp_path / "second", "cpu").run()
    old, new = (load_checkpoint(path).model.weights for path in (before, after))
    changed = {name for name in old if not torch.equal(old[name], new[name])}
    assert {name.partition(".")[0] for name in changed} == {"encoder", "decoder"}
    assert not any(name.startswith("encoder.0.") for name in changed)


def test_a_disk_that_is_full_from_the_start_is_said(
    tmp_path: Path, make_recipe: MakeRecipe, full_disk: FullDisk
) -> None:
    with full_disk(1000), pytest.raises(ValueError, match="File too large|cannot build this voc"):
        Trainer(make_recipe(), tmp_path / "run", "cpu")
    assert not (tmp_path / "run" / "sentencepiece.model").exists()
    Trainer(make_recipe(max_steps=1), tmp_path / "run", "cpu").run()


def test_a_dev_file_with_nothing_to_validate_on_is_refused_at_the_start(
    tmp_path: Path, start_run: StartRun, make_recipe: MakeRecipe, tiny_pairs: Path
) -> None:
    """All of its pairs are too long."""
    (tmp_path / "dev.tsv").write_text("a b c d e f g\th\n")
    recipe = make_recipe()
    corpora = (CorpusTable("tiny", tiny_pairs, tmp_path / "dev.tsv"),)
    recipe = replace(recipe, data=replace(recipe.data, corpora=corpora, max_tokens=3))
    said = "the dev file of corpus 'tiny' has no pair whose sides have 1 to 3 tokens"
    with pytest.raises(RecipeError, match=said):
        start_run(recipe)


def test_a_network_that_would_not_fit_into_memory_is_refused_at_the_start(
    start_run: StartRun, make_recipe: MakeRecipe
) -> None:
    recipe = make_recipe()
    model = {**recipe.model, "d_model": 16384, "d_ff": 131072, "n_encoder_layers": 256}
    with pytest.raises(RecipeError, match=r"the model of the recipe takes \d+.\d GiB of memory"):
        start_run(replace(recipe, model=model))


def test_digits_are_spelled_one_by_one_however_often_a_number_occurs(
    tmp_path: Path, tiny_pairs: Path, make_recipe: MakeRecipe
) -> None:
    (tmp_path / "years.tsv").write_text("1998年\tin 1998\n" * 300, encoding="utf-8")
    corpora = (CorpusTable("tiny", tiny_pairs), CorpusTable("years", tmp_path / "years.tsv"))
    data = DataTable(("zh", "en"), corpora)
    train_tokenizer(replace(make_recipe(), data=data), tmp_path / "years.model")
    tokenizer = Tokenizer(tmp_path / "years.model", tmp_path / "years.model")
    pieces = tokenizer.pieces(tokenizer.encode_target_batch(["1998"])[0])
    assert [piece for piece in pieces if piece != "▁"] == ["1", "9", "9", "8"]
