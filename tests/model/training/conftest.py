"""A recipe small enough to train in a second, and runs of it: killed, and compared."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.training.loop import Trainer
from model.training.recipe import CorpusTable, DataTable, Recipe, TokenizerTable, TrainingTable
from model.training.setup import TOKENIZER_FILE

MakeRecipe = Callable[..., Recipe]
StartRun = Callable[..., Trainer]
MakeTrainer = Callable[..., Trainer]


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


@pytest.fixture
def start_run(tmp_path: Path, tiny_tokenizer_file: Path) -> StartRun:
    """Starts a recipe in a named directory under tmp_path that already holds the tiny tokenizer."""

    def start(recipe: Recipe, name: str = "run") -> Trainer:
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        shutil.copyfile(tiny_tokenizer_file, directory / TOKENIZER_FILE)
        return Trainer(recipe, directory, torch.device("cpu"))

    return start


@pytest.fixture
def make_trainer(start_run: StartRun, make_recipe: MakeRecipe) -> MakeTrainer:
    """A trainer of the tiny recipe, with changes to its [training] table."""

    def make(name: str = "run", **changes: Any) -> Trainer:
        return start_run(make_recipe(**changes), name)

    return make


class KilledError(Exception):
    """Stands for a process that ends without warning."""


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


def files_of(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file() and p.stat().st_size}
