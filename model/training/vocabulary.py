"""Train the joint sentencepiece model of a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sentencepiece

from model.text.normalisation import normalise
from model.text.reserved import reserved_pieces
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
        for pair in read_pairs(corpus.train) if corpus.train else ():
            repeats = int(corpus.weight + rng.random())
            for _ in range(repeats):
                yield from (normalise(side) for side in pair)
