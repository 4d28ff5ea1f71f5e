"""A recipe small enough to train in a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.training.recipe import CorpusTable, DataTable, Recipe, TokenizerTable, TrainingTable

MakeRecipe = Callable[..., Recipe]


@pytest.fixture
def make_recipe(tiny_pairs: Path) -> MakeRecipe:
    """A tiny recipe, with changes to its [training] table."""
    model = {
        "d_model": 16,
        "n_heads": 2,
        "d_ff": 32,
        "n_encoder_layers": 1,
        "n_decoder_layers": 1,
        "dropout": 0.2,
        "max_positions": 64,
    }
    corpus = CorpusTable("tiny", train=tiny_pairs, dev=tiny_pairs)
    table = TrainingTable(
        max_steps=6,
        batch_tokens=3000,
        warmup_steps=4,
        precision="float32",
        validate_every=1000,
        save_every=2,
        average_last=2,
    )

    def make(**changes: Any) -> Recipe:
        return Recipe(
            name="tiny",
            model=model,
            data=DataTable(("zh", "en"), (corpus,), max_tokens=60),
            tokenizer=TokenizerTable(vocab_size=450),
            training=replace(table, **changes),
            decoding={"beam_size": 2},
        )

    return make
