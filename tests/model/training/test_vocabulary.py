"""The joint vocabulary that a recipe trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model.text.tokenizer import Tokenizer
from model.training.recipe import CorpusTable, DataTable, Recipe, RecipeError, TokenizerTable
from model.training.setup import train_tokenizer

MakeRecipe = Callable[..., Recipe]


def test_the_vocabulary_has_the_size_and_ids_that_were_asked_for(
    tiny_tokenizer: Tokenizer,
) -> None:
    special = (tiny_tokenizer.pad_id, tiny_tokenizer.bos_id, tiny_tokenizer.eos_id)
    assert (tiny_tokenizer.target_vocab_size, special) == (450, (0, 2, 3))


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


def test_a_vocabulary_too_large_for_the_text_is_refused(
    tmp_path: Path, make_recipe: MakeRecipe
) -> None:
    recipe = replace(make_recipe(), tokenizer=TokenizerTable(vocab_size=50_000))
    with pytest.raises(RecipeError, match="cannot build this vocabulary: .*too high"):
        train_tokenizer(recipe, tmp_path / "large.model")
    assert not (tmp_path / "large.model").exists()


def test_a_corpus_of_weight_zero_is_not_seen(
    tmp_path: Path, tiny_pairs: Path, make_recipe: MakeRecipe
) -> None:
    (tmp_path / "other.tsv").write_text("Ж\tЖ\n" * 200, encoding="utf-8")
    other = CorpusTable("other", tmp_path / "other.tsv", weight=0.0)
    data = DataTable(("zh", "en"), (CorpusTable("tiny", tiny_pairs), other))
    train_tokenizer(replace(make_recipe(), data=data), tmp_path / "without.model")
    tokenizer = Tokenizer(tmp_path / "without.model", tmp_path / "without.model")
    ids = tokenizer.encode_target_batch(["Ж"])[0]
    assert any(isinstance(tokenizer.text_of(token), bytes) for token in ids)
