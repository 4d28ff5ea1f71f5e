"""The joint vocabulary that a recipe trains, and word vectors for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.text.tokenizer import Tokenizer
from model.training.recipe import CorpusTable, DataTable, Recipe, RecipeError, TokenizerTable
from model.training.vocabulary import read_word_vectors, train_tokenizer

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


def test_word_vectors_go_to_the_pieces_that_spell_the_word(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\ntea 1 2 3\nnosuchword 4 5 6\n", encoding="utf-8")
    vectors = read_word_vectors(path, tiny_tokenizer, 3)
    spelled = {str(tiny_tokenizer.text_of(token)).strip() for token in vectors}
    assert spelled == {"tea"}
    for vector in vectors.values():
        assert torch.equal(vector, torch.tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tea 1 2 3\ncat 1 2\n", "line 2: 2 numbers for 'cat', but d_model is 3"),
        ("tea 1 x 3\n", "line 1: could not convert string to float: 'x'"),
    ],
)
def test_a_bad_word_vector_is_named(
    tmp_path: Path, tiny_tokenizer: Tokenizer, text: str, said: str
) -> None:
    (tmp_path / "vectors.txt").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=f"vectors.txt, {said}"):
        read_word_vectors(tmp_path / "vectors.txt", tiny_tokenizer, 3)


def test_a_missing_word_vector_file_is_named(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    with pytest.raises(RecipeError, match="cannot read the word vectors .*absent.txt"):
        read_word_vectors(tmp_path / "absent.txt", tiny_tokenizer, 3)
