"""Values that do not fit together, or are out of range, are named before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.training.recipe import RecipeError
from model.training.recipe_file import load_recipe
from tests.model.training.recipes import GOOD_RECIPE, write_recipe


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("max_steps = 100", "max_steps = 0", "training.max_steps must be at least 1, got 0"),
        ("save_every = 10", "save_every = 30", r"multiple of training.save_every \(30\).*got 20"),
        (
            "max_steps = 100",
            "max_steps = 9\nbatch_tokens = 51",
            r"training.batch_tokens must hold one longest sentence \(52\), got 51",
        ),
        ("max_tokens = 50", "max_tokens = 511", "data.max_tokens must be at most 510.*, got 511"),
        ('["zh", "en"]', '["zh"]', r"data.languages must be two different codes, got \['zh'\]"),
        ('train = "two.tsv"\ndev = "two.dev.tsv"', "", "corpus 'two' needs a file: train, dev or"),
        (
            "max_tokens = 50",
            "augmentation = {tags = 0.1}",
            r"placeholders and tags need tokenizer.reserved_pieces of at least 5, got 0",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\ngrow = true",
            "training.grow needs training.start, the checkpoint to grow from",
        ),
        (
            "max_steps = 100",
            'max_steps = 9\nfrozen_layers = 9\nstart = "checkpoints/zh-en"',
            "training.frozen_layers must be at most 6, model.n_encoder_layers, got 9",
        ),
        ("d_model = 64", "d_model = 63", r"\[model\]: d_model must be a multiple of n_heads"),
        (
            "beam_size = 3",
            "max_source_tokens = 53",
            "decoding.max_source_tokens must be a number from 16 to 52, .*, got 53",
        ),
        ('["zh", "en"]', '["../x", "en"]', "data.languages must be codes such as .*, got '../x'"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_is_allowed(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    assert GOOD_RECIPE.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE.replace(right, wrong)))
