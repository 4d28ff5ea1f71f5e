"""Prepare a run: tokenizer, batches, initial weights, enough memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sentencepiece
import torch

from model.backends.memory import free_bytes, full_bytes
from model.checkpoint import open_checkpoint
from model.checkpoint.reference import load_checkpoint
from model.decoding.decoder import Capacity
from model.network.parameters import num_weights
from model.network.transformer import Transformer, initialise
from model.text.normalisation import normalise
from model.text.reserved import reserved_pieces
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig, language_tag
from model.training.data import BatchMaker, read_pairs, tokenize_corpora
from model.training.evaluation import VALIDATION_SLOTS
from model.training.growth import grow
from model.training.recipe import Recipe, RecipeError
from model.training.run_files import copy_tokenizer, damaged

TOKENIZER_FILE = "sentencepiece.model"
_BYTES_A_WEIGHT = 16
"""In float32: the weight, its gradient and Adam's two moments."""
_MOST_EXAMPLES = 200_000_000
"""Per epoch; drawing and sorting them takes a few hundred bytes each."""
_GIB = 2**30
_TRAINING_SENTENCES = 1_000_000


def read_or_make_tokenizer(recipe: Recipe, path: Path) -> Tokenizer:
    """The tokenizer at `path`; if it is missing, train one or copy the start checkpoint's.

    Raises RecipeError, or TrainingError if the file is damaged.
    """
    if not path.exists():
        _make_tokenizer(recipe, path)
    try:
        return Tokenizer(path, path, tokenizer_config(recipe))
    except (RuntimeError, ValueError) as error:
        raise damaged(path, error) from error


def tokenizer_config(recipe: Recipe) -> TokenizerConfig:
    reserved = recipe.tokenizer.reserved_pieces
    return TokenizerConfig(TOKENIZER_FILE, TOKENIZER_FILE, reserved=reserved)


def make_batches(recipe: Recipe, tokenizer: Tokenizer, split: str) -> BatchMaker:
    """The tokenised pairs of a split, "train" or "dev", in batches of the recipe's size."""
    corpora = tokenize_corpora(recipe.data, tokenizer, split)
    return BatchMaker(corpora, recipe.data.languages, tokenizer, recipe.training.batch_tokens)


def require_memory(recipe: Recipe, tokenizer: Tokenizer, device: torch.device) -> None:
    """Raise RecipeError if training and validation take more memory than the device has free."""
    config = recipe.model_config(tokenizer.target_vocab_size)
    limit = config.max_positions
    capacity = Capacity(VALIDATION_SLOTS, VALIDATION_SLOTS, limit, limit)
    weights = num_weights(config)
    needed = _BYTES_A_WEIGHT * weights
    if any(corpus.dev for corpus in recipe.data.corpora):
        needed += full_bytes(config, capacity, 1, "float32")
    if needed > (free := free_bytes(str(device))):
        raise RecipeError(
            f"the model of the recipe takes {needed / _GIB:.1f} GiB of memory to train and to "
            f"validate, and {free / _GIB:.1f} GiB are free; make [model] smaller"
        )


def require_pairs(recipe: Recipe, train: BatchMaker, dev: BatchMaker) -> None:
    """Raise RecipeError if a split has no pair, or an epoch has too many."""
    for corpus in dev.corpora:
        if not len(corpus):
            raise RecipeError(
                f"the dev file of corpus {corpus.name!r} has no pair whose sides have 1 to "
                f"{recipe.data.max_tokens} tokens (data.max_tokens)"
            )
    count = train.num_examples
    if count > _MOST_EXAMPLES:
        raise RecipeError(
            f"an epoch has {count} pairs, and at most {_MOST_EXAMPLES} are allowed; lower the "
            "weights of the corpora"
        )
    if not count:
        raise RecipeError(
            "no sentence pair is left to train on: look at the corpora, their weights and "
            "data.max_tokens"
        )


def build_model(recipe: Recipe, tokenizer: Tokenizer) -> Transformer:
    """The network with its initial weights: random, or a checkpoint's. Weights
    that the recipe does not train have no gradient.

    Raises RecipeError if the checkpoint does not fit the recipe's architecture.
    """
    torch.manual_seed(recipe.training.seed)
    config = recipe.model_config(tokenizer.target_vocab_size)
    model = Transformer(config)
    initialise(model, recipe.training.initialisation)
    if (start := recipe.training.start) is not None:
        _load_start(model, tokenizer, start, is_growing=recipe.training.grow)
    if frozen := recipe.training.frozen_layers:
        for part in (
            model.src_embedding,
            model.tgt_embedding,
            model.output,
            model.encoder[:frozen],
        ):
            part.requires_grad_(False)
    return model


def _make_tokenizer(recipe: Recipe, path: Path) -> None:
    """Train a new one, or copy the start checkpoint's if the run does not grow."""
    if (start := recipe.training.start) is None or recipe.training.grow:
        train_tokenizer(recipe, path)
        return
    info = open_checkpoint(start).info
    if len(info.tokenizer.files) > 1 or info.tokenizer.tags:
        raise RecipeError(
            f"training.start must be a checkpoint that was trained here; {start} was imported, "
            "and its tokenizer is of another kind"
        )
    copy_tokenizer(start / info.tokenizer.source, path)


def _load_start(
    model: Transformer, tokenizer: Tokenizer, directory: Path, *, is_growing: bool
) -> None:
    loaded = load_checkpoint(directory)
    if is_growing:
        grow(model, tokenizer, loaded)
        return
    own, its = asdict(model.config), asdict(loaded.info.architecture)
    if different := [name for name in own if name != "dropout" and own[name] != its[name]]:
        name = different[0]
        raise RecipeError(
            f"training.start must be a checkpoint of the recipe's own architecture: its {name} is "
            f"{its[name]!r}, the recipe's {own[name]!r}"
        )
    model.load_state_dict(loaded.model.state_dict())


def train_tokenizer(recipe: Recipe, path: Path) -> None:
    """Train on the corpora with their epoch weights and write the model to `path`.

    Byte fallback makes every string spellable. Normalisation is our own NFC, because
    sentencepiece's NFKC would turn full-width Chinese punctuation into ASCII.
    """
    table = recipe.tokenizer
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_sentences(recipe),
                model_writer=model,
                vocab_size=table.vocab_size,
                model_type=table.model_type,
                character_coverage=table.character_coverage,
                control_symbols=[language_tag(language) for language in recipe.data.languages],
                user_defined_symbols=reserved_pieces(table.reserved_pieces),
                normalization_rule_name="identity",
                byte_fallback=True,
                split_digits=True,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                input_sentence_size=_TRAINING_SENTENCES,
                shuffle_input_sentence=True,
                num_threads=2,
                minloglevel=1,
            )
    except RuntimeError as error:
        raise RecipeError(f"sentencepiece cannot build this vocabulary: {error}") from error
    temporary.rename(path)


def _sentences(recipe: Recipe) -> Iterator[str]:
    rng = np.random.default_rng(recipe.training.seed)
    for corpus in recipe.data.corpora:
        for pair in read_pairs(corpus.train) if corpus.train else ():
            repeats = int(corpus.weight + rng.random())
            for _ in range(repeats):
                yield from (normalise(side) for side in pair)
