"""A training recipe, the input of `dragoman train RECIPE.toml`: its tables and their checks.

`model.training.recipe_file` reads one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from model.decoding.options import DecodingOptions, OptionsError
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.network.config import ConfigError, ModelConfig
from model.text.languages import is_code
from model.text.reserved import MAX_RESERVED
from model.values import is_name, is_whole_number, shown

TrainingPrecision = Literal["auto", "float32", "bfloat16"]
_RESERVED_IN_A_PAIR = 5
"""The most pieces of a kind that augmentation puts into one pair."""


class RecipeError(ValueError):
    """The recipe is invalid; the message gives the value and the allowed ones."""


@dataclass(frozen=True)
class CorpusTable:
    """One parallel corpus: UTF-8 TSV files, plain or .gz, one pair per line; without `train` it is
    used for evaluation only.

    `weight` is the number of passes over the training file per epoch (2.5: twice, and a random half
    once more). `source`: the columns that are sources; a corpus with a single one, such as a
    back-translation, is not augmented.
    """

    name: str
    train: Path | None = None
    dev: Path | None = None
    test: Path | None = None
    weight: float = 1.0
    source: Literal["both", "first", "second"] = "both"
    has_terms: bool = True
    """Whether `TermsTable` searches it."""

    def path(self, split: str) -> Path | None:
        """The file of "train", "dev" or "test"; None if the corpus lacks that split."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[split]


@dataclass(frozen=True)
class AugmentationTable:
    """Pairs made from each training corpus and added to it, as shares of its size: `cased` without
    proper casing, `copied` with a string that stays as it is, `joined` of several sentences, `kept`
    with only strings that stay, `unmarked` without final marks, `listed` as a list item,
    `placeholders` and `tags` with pieces of `model.text.reserved`, `signs` with signs beside or
    between words that translate each other, `capitals` with such words in capitals (only as source
    if the other side has no cases). `short` is a share of the pairs
    with at most three words or six Chinese characters, and of recurring openings before commas
    ("Yes, ..."): 4.0 shows each about four more times. `numbers` and `cldr` are shares of the pairs
    with a number or a name that `model.training.substitution` can replace."""

    cased: float = 0.0
    copied: float = 0.0
    joined: float = 0.0
    kept: float = 0.0
    short: float = 0.0
    unmarked: float = 0.0
    listed: float = 0.0
    placeholders: float = 0.0
    tags: float = 0.0
    signs: float = 0.0
    capitals: float = 0.0
    numbers: float = 0.0
    cldr: float = 0.0
    seed: int = 1


@dataclass(frozen=True)
class TermsTable:
    """Terms found in the training files (`model.training.terms`), as one more corpus.

    `weight` is the number of passes over it per epoch (0: no terms). Each term is there as such
    and in about `contexts` sentence pairs. Up to `pairs` pairs of each corpus are searched,
    whatever its weight, unless its `has_terms` is false. Only terms that at least `corpora` of
    them have are kept: general words rather than names.
    """

    weight: float = 0.0
    contexts: int = 0
    corpora: int = 1
    pairs: int = 20_000
    seed: int = 1


@dataclass(frozen=True)
class DataTable:
    """`languages` are those of the TSV columns, in order. Both directions are trained; with
    `is_one_way` only first to second.

    Pairs with a side longer than `max_tokens` are dropped. In a file a corpus may be only its name:
    `files`, data/{name}/{split}.tsv if not given, then says where its splits are.
    """

    languages: tuple[str, str]
    corpora: tuple[CorpusTable, ...]
    max_tokens: int = 100
    is_one_way: bool = False
    augmentation: AugmentationTable = AugmentationTable()
    terms: TermsTable = TermsTable()

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """The (source, target) pairs to train."""
        there, back = self.languages, self.languages[::-1]
        return (there,) if self.is_one_way else (there, back)


@dataclass(frozen=True)
class TokenizerTable:
    """One joint sentencepiece model for both languages."""

    vocab_size: int = 8000
    model_type: Literal["unigram", "bpe"] = "unigram"
    character_coverage: float = 0.9995
    reserved_pieces: int = 0
    """The number of unsplit placeholders, and of tags of each kind (`model.text.reserved`)."""


@dataclass(frozen=True)
class TrainingTable:
    """Optimisation (Vaswani et al. 2017, section 5), all lengths in optimiser steps.

    A batch holds at most `batch_tokens` tokens a side, padding included; a step sums the gradients
    of `accumulate` batches. `cooldown_steps` > 0 lowers the rate linearly to zero at the end.
    Gradients are scaled down to a norm of at most `clip_norm` (0: never). `patience` counts
    validations without a better dev BLEU (0: never stop early). `start` is a checkpoint that
    provides the initial weights and the vocabulary. With `grow` the run trains its own vocabulary
    and may have more layers (`model.training.growth`). `frozen_layers` > 0 keeps the
    embeddings and this number of the lowest encoder layers as they are in `start`; a step takes
    less time, and less can be forgotten. `precision`: "auto" is bfloat16 where matrices are
    multiplied in it (a GPU since Ampere, a CPU with AMX), else float32, which is faster there.
    """

    max_steps: int
    batch_tokens: int = 4096
    accumulate: int = 1
    warmup_steps: int = 4000
    cooldown_steps: int = 0
    rate_factor: float = 1.0
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    initialisation: Literal["xavier", "kaiming"] = "xavier"
    precision: TrainingPrecision = "auto"
    validate_every: int = 1000
    validation_sentences: int = 200
    save_every: int = 500
    average_last: int = 5
    patience: int = 10
    seed: int = 1
    start: Path | None = None
    grow: bool = False
    frozen_layers: int = 0


@dataclass(frozen=True)
class Recipe:
    """A whole training run. `model` holds ModelConfig's options except the vocabulary sizes.

    The finished checkpoint asks servers to split sentences of more than `max_source_tokens`; the
    default is the longest sentence in training.
    """

    name: str
    model: dict[str, Any]
    data: DataTable
    tokenizer: TokenizerTable
    training: TrainingTable
    decoding: dict[str, Any] = field(default_factory=dict)
    max_source_tokens: int | None = None

    @property
    def most_source_tokens(self) -> int:
        """The finished checkpoint's source limit, tag and end included."""
        longest_seen = max(self.data.max_tokens + 2, LEAST_SOURCE_TOKENS)
        return self.max_source_tokens or longest_seen

    def model_config(self, vocab_size: int) -> ModelConfig:
        sizes = {"src_vocab_size": vocab_size, "tgt_vocab_size": vocab_size}
        return ModelConfig.from_dict({**self.model, **sizes})


def check_recipe(recipe: Recipe) -> None:
    """Raises RecipeError, which names the wrong value and the allowed ones."""
    if not is_name(recipe.name):
        raise RecipeError(
            f"name must be a line of 1 to 200 printable characters, got {shown(recipe.name)}"
        )
    _check_languages(recipe.data.languages)
    for corpus in recipe.data.corpora:
        if not (corpus.train or corpus.dev or corpus.test):
            raise RecipeError(f"corpus {corpus.name!r} needs a file: train, dev or test")
    _check_training(recipe.training)
    _check_reserved(recipe)
    _check_lengths(recipe)
    _check_max_source_tokens(recipe)
    _check_model(recipe)


def _check_languages(languages: tuple[str, ...]) -> None:
    if wrong := [code for code in languages if not is_code(code)]:
        raise RecipeError(
            "data.languages must be codes such as 'en' or 'zh-Hant', got " + shown(wrong[0])
        )
    if len(languages) != 2 or len(set(languages)) != 2:
        raise RecipeError(
            f"data.languages must be two different codes, got {shown(list(languages))}"
        )


def _check_lengths(recipe: Recipe) -> None:
    most, batch = recipe.data.max_tokens, recipe.training.batch_tokens
    if most < 1:
        raise RecipeError(f"data.max_tokens must be at least 1, got {most}")
    if batch < most + 2:
        raise RecipeError(
            f"training.batch_tokens must hold one longest sentence ({most + 2}), got {batch}"
        )


def _check_model(recipe: Recipe) -> None:
    try:
        config = recipe.model_config(recipe.tokenizer.vocab_size)
        DecodingOptions.from_dict(recipe.decoding)
    except ConfigError as error:
        raise RecipeError(f"[model]: {error}") from error
    except OptionsError as error:
        raise RecipeError(f"[decoding]: {error}") from error
    if recipe.training.frozen_layers > config.n_encoder_layers:
        raise RecipeError(
            f"training.frozen_layers must be at most {config.n_encoder_layers}, "
            f"model.n_encoder_layers, got {recipe.training.frozen_layers}"
        )
    if recipe.data.max_tokens + 2 > config.max_positions:
        raise RecipeError(
            f"data.max_tokens must be at most {config.max_positions - 2}, which leaves room in "
            f"model.max_positions for the tag and the end, got {recipe.data.max_tokens}"
        )


def _check_reserved(recipe: Recipe) -> None:
    augmentation, reserved = recipe.data.augmentation, recipe.tokenizer.reserved_pieces
    if reserved > MAX_RESERVED:
        raise RecipeError(
            f"tokenizer.reserved_pieces must be at most {MAX_RESERVED}, got {reserved}"
        )
    if (augmentation.placeholders or augmentation.tags) and reserved < _RESERVED_IN_A_PAIR:
        raise RecipeError(
            "data.augmentation.placeholders and tags need tokenizer.reserved_pieces of at least "
            f"{_RESERVED_IN_A_PAIR}, got {reserved}"
        )


def _check_max_source_tokens(recipe: Recipe) -> None:
    wanted, least, most = recipe.max_source_tokens, LEAST_SOURCE_TOKENS, recipe.data.max_tokens
    if wanted is not None and not (is_whole_number(wanted) and least <= wanted <= most + 2):
        raise RecipeError(
            f"decoding.max_source_tokens must be a number from {least} to {most + 2}, which the "
            f"longest training sentence takes with its tag and end, got {shown(wanted)}"
        )


def _check_training(table: TrainingTable) -> None:
    for name in (
        "max_steps", "batch_tokens", "accumulate", "validate_every", "validation_sentences",
        "save_every", "average_last",
    ):  # fmt: skip
        if getattr(table, name) < 1:
            raise RecipeError(f"training.{name} must be at least 1, got {getattr(table, name)}")
    if table.grow and table.start is None:
        raise RecipeError("training.grow needs training.start, the checkpoint to grow from")
    if table.frozen_layers and (table.start is None or table.grow):
        raise RecipeError(
            "training.frozen_layers needs training.start, the checkpoint that they come from, "
            "without training.grow"
        )
    if table.label_smoothing > 1:
        raise RecipeError(
            f"training.label_smoothing must be a number from 0 to 1, got {table.label_smoothing}"
        )
    if table.validate_every % table.save_every:
        raise RecipeError(
            f"training.validate_every must be a multiple of training.save_every "
            f"({table.save_every}), because only saved states are validated, "
            f"got {table.validate_every}"
        )
