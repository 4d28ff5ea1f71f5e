"""A grown model begins where the smaller one stands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from model.checkpoint import Checkpoint, CheckpointInfo, load_checkpoint, save_checkpoint
from model.decoding.options import DecodingOptions
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.training.growth import grow
from model.training.loop import Trainer
from model.training.recipe import (
    CorpusTable,
    DataTable,
    Recipe,
    RecipeError,
    TokenizerTable,
    TrainingTable,
)
from model.training.setup import TOKENIZER_FILE, train_tokenizer

MakeRecipe = Callable[..., Recipe]
LARGER = TokenizerTable(vocab_size=520, reserved_pieces=8)


@pytest.fixture
def start(tiny_config: ModelConfig, tiny_tokenizer: Tokenizer) -> Checkpoint:
    """A model of 1 + 1 layers and 450 pieces, its biases not zero."""
    config = replace(tiny_config, norm="pre", n_encoder_layers=1, n_decoder_layers=1)
    model = new_model(config)
    for weight in model.parameters():
        if weight.dim() == 1:
            torch.nn.init.normal_(weight)
    tokenizer = TokenizerConfig("sentencepiece.model", "sentencepiece.model")
    info = CheckpointInfo("start", config, (("zh", "en"),), tokenizer, DecodingOptions())
    return Checkpoint(info, model, tiny_tokenizer)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory, tiny_pairs: Path) -> Tokenizer:
    """A vocabulary of 520 pieces, reserved ones among them."""
    path = tmp_path_factory.mktemp("larger") / "larger.model"
    data = DataTable(("zh", "en"), (CorpusTable("tiny", tiny_pairs),))
    recipe = Recipe("larger", {}, data, LARGER, TrainingTable(max_steps=1))
    train_tokenizer(recipe, path)
    return Tokenizer(path, path, TokenizerConfig(path.name, path.name, reserved=8))


def new_model(config: ModelConfig, **changes: Any) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(replace(config, **changes)).eval()
    initialise(model, "xavier")
    return model


def rows(model: Transformer) -> torch.Tensor:
    return model.tgt_embedding.tokens.weight.detach()


@pytest.mark.parametrize(("encoder", "decoder"), [(1, 1), (3, 1), (4, 3)])
def test_added_layers_change_nothing_at_first(
    start: Checkpoint, encoder: int, decoder: int
) -> None:
    depth = {"n_encoder_layers": encoder, "n_decoder_layers": decoder}
    grown = new_model(start.model.config, **depth)
    grow(grown, start.tokenizer, start)
    src, tgt = torch.randint(4, 450, (3, 7)), torch.randint(4, 450, (3, 5))
    torch.testing.assert_close(grown(src, tgt), start.model(src, tgt))


def test_added_layers_copy_the_layer_below_them_and_learn(start: Checkpoint) -> None:
    grown = new_model(start.model.config, n_encoder_layers=3).train()
    grow(grown, start.tokenizer, start)
    first, added = grown.encoder[0], grown.encoder[2]
    assert torch.equal(first.self_attention.q_proj.weight, added.self_attention.q_proj.weight)
    src, tgt = torch.randint(4, 450, (3, 7)), torch.randint(4, 450, (3, 5))
    grown(src, tgt).square().mean().backward()
    assert added.self_attention.out_proj.weight.grad.any()
    assert added.feed_forward.contract.weight.grad.any()


def test_added_layers_are_spread_among_the_old_ones(start: Checkpoint) -> None:
    two = new_model(start.model.config, n_encoder_layers=2)
    grown = new_model(start.model.config, n_encoder_layers=5)
    grow(grown, start.tokenizer, replace(start, model=two))
    norms = [layer.feed_forward.expand.weight for layer in grown.encoder]
    old = [layer.feed_forward.expand.weight for layer in two.encoder]
    origins = [[torch.equal(weight, o) for o in old].index(True) for weight in norms]
    assert origins == [0, 0, 0, 1, 1]
    is_added = [not layer.feed_forward.contract.weight.any() for layer in grown.encoder]
    assert is_added == [False, True, True, False, True]


def test_pieces_of_both_vocabularies_keep_their_vectors(
    start: Checkpoint, larger: Tokenizer
) -> None:
    grown = new_model(start.model.config, src_vocab_size=520, tgt_vocab_size=520)
    grow(grown, larger, start)
    old = {piece: i for i, piece in enumerate(start.tokenizer.target_pieces)}
    shared = [(i, old[p]) for i, p in enumerate(larger.target_pieces) if p in old]
    assert len(shared) > 350
    for new_id, old_id in shared:
        assert torch.equal(rows(grown)[new_id], rows(start.model)[old_id])


def test_a_new_piece_is_the_mean_of_the_old_ones_that_spell_it(
    start: Checkpoint, larger: Tokenizer
) -> None:
    grown = new_model(start.model.config, src_vocab_size=520, tgt_vocab_size=520)
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


def test_a_piece_within_a_word_is_not_spelled_with_a_space(
    start: Checkpoint, larger: Tokenizer
) -> None:
    grown = new_model(start.model.config, src_vocab_size=520, tgt_vocab_size=520)
    grow(grown, larger, start)
    old = {piece: i for i, piece in enumerate(start.tokenizer.target_pieces)}
    checked = 0
    for token, piece in enumerate(larger.target_pieces):
        if piece in old or "⟦" in piece or "▁" in piece:
            continue
        if all(character in old for character in piece) and len(piece) == 2:
            spelled = rows(start.model)[[old[c] for c in piece]].mean(0)
            torch.testing.assert_close(rows(grown)[token], spelled)
            checked += 1
    assert checked


def test_a_reserved_piece_begins_small(start: Checkpoint, larger: Tokenizer) -> None:
    grown = new_model(start.model.config, src_vocab_size=520, tgt_vocab_size=520)
    grow(grown, larger, start)
    is_reserved = torch.tensor([piece.startswith("⟦") for piece in larger.target_pieces])
    assert is_reserved.sum() == 32
    lengths = rows(grown).norm(dim=1)
    assert lengths[is_reserved].min() > 0
    assert lengths[is_reserved].max() < lengths[~is_reserved].mean() / 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 32}, r"d_model must be 16 as there, got 32"),
        ({"norm": "post"}, r"only a pre-norm model can grow, got model.norm 'post'"),
    ],
)
def test_what_cannot_grow_is_refused(
    start: Checkpoint, changes: dict[str, Any], message: str
) -> None:
    grown = Transformer(replace(start.model.config, **changes))
    with pytest.raises(RecipeError, match=message):
        grow(grown, start.tokenizer, start)


def test_a_vocabulary_without_bytes_is_refused(start: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "bytes.model"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a house", "a tree"] * 20),
        model_writer=(writer := path.open("wb")),
        vocab_size=14,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    writer.close()
    plain = replace(start, tokenizer=Tokenizer(path, path))
    with pytest.raises(RecipeError, match="only a checkpoint whose vocabulary has pieces for byt"):
        grow(new_model(start.model.config), start.tokenizer, plain)


def test_a_shallower_model_is_refused(start: Checkpoint) -> None:
    deep = Transformer(replace(start.model.config, n_encoder_layers=3))
    with pytest.raises(RecipeError, match="n_encoder_layers must be at least 3 as there, got 1"):
        grow(Transformer(start.model.config), start.tokenizer, replace(start, model=deep))


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
