"""A recipe gives the architecture, and the length at which sentences are cut."""

from __future__ import annotations

from pathlib import Path

from model.training.recipe_file import load_recipe
from tests.model.training.recipes import GOOD_RECIPE, write_recipe


def test_sentences_are_to_be_cut_at_what_training_sees_or_where_the_recipe_says(
    tmp_path: Path,
) -> None:
    chosen = GOOD_RECIPE.replace("beam_size = 3", "beam_size = 3\nmax_source_tokens = 28")
    assert load_recipe(write_recipe(tmp_path, GOOD_RECIPE)).most_source_tokens == 52
    assert load_recipe(write_recipe(tmp_path, chosen)).most_source_tokens == 28
    assert load_recipe(write_recipe(tmp_path, chosen)).decoding == {"beam_size": 3}
    short = GOOD_RECIPE.replace("max_tokens = 50", "max_tokens = 5")
    assert load_recipe(write_recipe(tmp_path, short)).most_source_tokens == 16


def test_the_architecture_takes_the_vocabularys_size(tmp_path: Path) -> None:
    config = load_recipe(write_recipe(tmp_path, GOOD_RECIPE)).model_config(987)
    assert (config.src_vocab_size, config.tgt_vocab_size, config.d_model) == (987, 987, 64)
