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
        ("save_every = 10", "save_every = 0", "training.save_every must be at least 1, got 0"),
        ("save_every = 10", "save_every = 30", r"multiple of training.save_every \(30\).*got 20"),
        (
            "max_steps = 100",
            "max_steps = 9\naverage_last = 0",
            "training.average_last must be at least 1",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\naccumulate = 0",
            "training.accumulate must be at least 1",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\nlabel_smoothing = 1.1",
            "training.label_smoothing must be a number from 0 to 1, got 1.1",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\nbatch_tokens = 51",
            r"training.batch_tokens must hold one longest sentence \(52\), got 51",
        ),
        ("max_tokens = 50", "max_tokens = 511", "data.max_tokens must be at most 510.*, got 511"),
        ('["zh", "en"]', '["zh", "zh"]', "data.languages must be two different codes"),
        ('["zh", "en"]', '["zh"]', r"data.languages must be two different codes, got \['zh'\]"),
        ('train = "two.tsv"\ndev = "two.dev.tsv"', "", "corpus 'two' needs a file: train, dev or"),
        (
            "max_tokens = 50",
            "augmentation = {tags = 0.1}",
            r"placeholders and tags need tokenizer.reserved_pieces of at least 5, got 0",
        ),
        (
            "vocab_size = 1000",
            "reserved_pieces = 257",
            "tokenizer.reserved_pieces must be at most 256, got 257",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\ngrow = true",
            "training.grow needs training.start, the checkpoint to grow from",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\nfrozen_layers = 1",
            "training.frozen_layers needs training.start, .* without training.grow",
        ),
        (
            "max_steps = 100",
            'max_steps = 9\nfrozen_layers = 9\nstart = "checkpoints/zh-en"',
            "training.frozen_layers must be at most 6, model.n_encoder_layers, got 9",
        ),
        ("vocab_size = 1000", "vocab_size = 0", r"\[model\]: src_vocab_size must be at least 1"),
        ("d_model = 64", "d_model = 63", r"\[model\]: d_model must be a multiple of n_heads"),
        ("d_model = 64", "d_modell = 63", r"\[model\]: unknown architecture option 'd_modell'"),
        ("beam_size = 3", "beam_size = 0", r"\[decoding\]: beam_size must be .* from 1 to 64"),
        (
            "beam_size = 3",
            "max_source_tokens = 53",
            "decoding.max_source_tokens must be a number from 16 to 52, .*, got 53",
        ),
        (
            "beam_size = 3",
            'max_source_tokens = "28"',
            "decoding.max_source_tokens must be a number from 16 to 52, .*, got '28'",
        ),
        ("max_tokens = 50", "max_tokens = 0", "data.max_tokens must be at least 1, got 0"),
        ("d_model = 64", "d_model = 1_000_000_000", r"\[model\]: d_model must be at most 16384"),
        ("d_model = 64", "n_encoder_layers = 1_000_000", "n_encoder_layers must be at most 256"),
        (
            "max_steps = 100",
            "max_steps = 9\nvalidation_sentences = 0",
            "training.validation_sentences must be at least 1, got 0",
        ),
        ('["zh", "en"]', '["", "en"]', "data.languages must be codes such as .*, got ''"),
        ('["zh", "en"]', '["../x", "en"]', "data.languages must be codes such as .*, got '../x'"),
        ('["zh", "en"]', '["zh", "s>"]', "data.languages must be codes such as .*, got 's>'"),
        ('["zh", "en"]', '["zh", "e\\u0000n"]', "data.languages must be codes such as .*x00n'"),
        ('["zh", "en"]', '["zh", "' + "e" * 500 + '"]', "data.languages must be codes such as"),
        ('"small"', "3", "name must be a line of 1 to 200 printable characters, got 3"),
        ('"small"', '""', "name must be a line of 1 to 200 printable characters, got ''"),
        ('"small"', '"a\\nb"', r"name must be a line of .*, got 'a\\nb'"),
        ('"small"', '"a\\u0000b"', r"name must be a line of .*, got 'a\\x00b'"),
        ("beam_size = 3", "beams = 1", r"\[decoding\]: unknown decoding option 'beams'"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_is_allowed(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    assert GOOD_RECIPE.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE.replace(right, wrong)))
