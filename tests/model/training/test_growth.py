"""A grown model begins where the smaller one stands."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointInfo
from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.checkpoint.saving import save_checkpoint
from model.decoding.options import DecodingOptions
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.training.growth import grow
from model.training.loop import Trainer
from model.training.recipe import TokenizerTable
from model.training.setup import TOKENIZER_FILE
from tests.conftest import train_tiny_tokenizer
from tests.model.test_checkpoint import random_model
from tests.model.training.conftest import MakeRecipe

LARGER = TokenizerTable(vocab_size=520, reserved_pieces=8)


@pytest.fixture
def start(tiny_config: ModelConfig, tiny_tokenizer: Tokenizer) -> Checkpoint:
    """A model of 1 + 1 layers and 450 pieces, its biases not zero."""
    config = replace(tiny_config, norm="pre", n_encoder_layers=1, n_decoder_layers=1)
    model = random_model(config)
    for weight in model.parameters():
        if weight.dim() == 1:
            torch.nn.init.normal_(weight)
    tokenizer = TokenizerConfig("sentencepiece.model", "sentencepiece.model")
    info = CheckpointInfo("start", config, (("zh", "en"),), tokenizer, DecodingOptions())
    return Checkpoint(info, model, tiny_tokenizer)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A vocabulary of 520 pieces, reserved ones among them."""
    path = train_tiny_tokenizer(tmp_path_factory.mktemp("larger") / "larger.model", 520, 8)
    return Tokenizer(path, path, TokenizerConfig(path.name, path.name, reserved=8))


def rows(model: Transformer) -> torch.Tensor:
    return model.tgt_embedding.tokens.weight.detach()


@pytest.mark.parametrize(("encoder", "decoder"), [(3, 1), (4, 3)])
def test_added_layers_change_nothing_at_first(
    start: Checkpoint, encoder: int, decoder: int
) -> None:
    depth = {"n_encoder_layers": encoder, "n_decoder_layers": decoder}
    grown = random_model(replace(start.model.config, **depth))
    grow(grown, start.tokenizer, start)
    src, tgt = torch.randint(4, 450, (3, 7)), torch.randint(4, 450, (3, 5))
    torch.testing.assert_close(grown(src, tgt), start.model(src, tgt))


def test_a_new_piece_is_the_mean_of_the_old_ones_that_spell_it(
    start: Checkpoint, larger: Tokenizer
) -> None:
    config = replace(start.model.config, src_vocab_size=520, tgt_vocab_size=520)
    grown = random_model(config)
    grow(grown, larger, start)
    old = {piece: i for i, piece in enumerate(start.tokenizer.target_pieces)}
    new = [
        (i, piece)
        for i, piece in enumerate(larger.target_pieces)
        if piece not in old and "⟦" not in piece and piece.startswith("▁")
    ]
    assert new
    for token, piece in new:
        (ids,) = start.tokenizer.encode_target_batch([piece.removeprefix("▁")])
        torch.testing.assert_close(rows(grown)[token], rows(start.model)[ids].mean(0))


def test_a_run_grows_once_and_goes_on_like_any_other(
    tmp_path: Path, start: Checkpoint, tiny_tokenizer_file: Path, make_recipe: MakeRecipe
) -> None:
    directory = tmp_path / "start"
    file = shutil.copyfile(tiny_tokenizer_file, tmp_path / TOKENIZER_FILE)
    save_checkpoint(directory, start.info, start.model.weights, [file], torch.float32)
    recipe = make_recipe(start=directory, grow=True, max_steps=2, save_every=1)
    model = {**asdict(start.model.config), "n_encoder_layers": 2}
    del model["src_vocab_size"], model["tgt_vocab_size"]
    recipe = replace(recipe, model=model, tokenizer=LARGER)
    trainer = Trainer(recipe, tmp_path / "grown", "cpu")
    finished = load_checkpoint(trainer.run())
    assert finished.info.tokenizer.reserved == finished.tokenizer.reserved == 8
    assert finished.info.architecture.n_encoder_layers == 2
    assert finished.tokenizer.target_vocab_size == 520
    longer = replace(recipe, training=replace(recipe.training, max_steps=3))
    resumed = Trainer(longer, tmp_path / "grown", "cpu")
    assert resumed.progress.step == 2
    for name, weight in trainer.model.weights.items():
        assert torch.equal(resumed.model.weights[name], weight), name
    resumed.run()
    assert resumed.progress.step == 3
