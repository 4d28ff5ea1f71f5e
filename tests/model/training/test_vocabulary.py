"""The joint vocabulary that a recipe trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from model.text.tokenizer import Tokenizer
from model.training.recipe import CorpusTable, DataTable, Recipe
from model.training.setup import train_tokenizer

MakeRecipe = Callable[..., Recipe]


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
