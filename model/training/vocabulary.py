"""Train the joint sentencepiece model of a recipe, and read pre-trained word vectors for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from model.text.normalisation import normalise
from model.text.reserved import reserved_pieces
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import language_tag
from model.training.data import read_pairs
from model.training.recipe import Recipe, RecipeError

_TRAINING_SENTENCES = 1_000_000


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
        for pair in read_pairs(corpus.train, recipe.data.is_lowercase) if corpus.train else ():
            repeats = int(corpus.weight + rng.random())
            for _ in range(repeats):
                yield from (normalise(side) for side in pair)


def read_word_vectors(path: Path, tokenizer: Tokenizer, d_model: int) -> dict[int, Tensor]:
    """Vectors for the pieces that are words of the file: id -> (D,).

    Text format: a word and its D numbers on each line, optionally after a line with the two sizes.
    """
    ids = _ids_by_word(tokenizer)
    vectors: dict[int, Tensor] = {}
    for number, (word, *numbers) in enumerate(_word_lines(path), 1):
        if number == 1 and len(numbers) == 1:
            continue
        if len(numbers) != d_model:
            raise RecipeError(
                f"{path}, line {number}: {len(numbers)} numbers for {word!r}, "
                f"but d_model is {d_model}"
            )
        for token in ids.get(word, ()):
            vectors[token] = _vector(numbers, f"{path}, line {number}")
    return vectors


def _word_lines(path: Path) -> Iterator[list[str]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield from (line.rstrip().split(" ") for line in lines)
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"cannot read the word vectors {path}: {error}") from error


def _vector(numbers: list[str], where: str) -> Tensor:
    try:
        return torch.tensor([float(number) for number in numbers])
    except ValueError as error:
        raise RecipeError(f"{where}: {error}") from error


def _ids_by_word(tokenizer: Tokenizer) -> dict[str, list[int]]:
    ids: dict[str, list[int]] = {}
    for token in range(tokenizer.target_vocab_size):
        text = tokenizer.text_of(token)
        if isinstance(text, str) and text.strip():
            ids.setdefault(text.strip(), []).append(token)
    return ids
