"""A training recipe: the input of `dragoman train RECIPE.toml`.

Every table and key is checked; a mistake raises RecipeError, which names the allowed values.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from model.decoding.options import DecodingOptions, OptionsError
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.files import FileError, read_text
from model.network.config import ConfigError, ModelConfig
from model.text.languages import is_code
from model.text.reserved import MAX_RESERVED
from model.values import is_name, is_whole_number, shown

_MOST_BYTES = 2**22
_MOST = {
    "data.corpora.weight": 10_000,
    "data.terms.weight": 10_000,
    "data.terms.contexts": 1000,
    "data.terms.pairs": 100_000,
    "data.max_tokens": 2**16,
    "tokenizer.vocab_size": 1_000_000,
    "tokenizer.character_coverage": 1,
    "training.batch_tokens": 10**8,
    "training.accumulate": 10**5,
    "training.rate_factor": 10**6,
    "training.validation_sentences": 10**6,
    "training.average_last": 1000,
}
"""Upper limits, so that a wrong number is refused before it uses up time or memory; other numbers
are bounded by _MOST_OTHERS, shares of pairs by _MOST_SHARE."""
_MOST_OTHERS = 10**12
_MOST_SHARE = 100

_Table = TypeVar(
    "_Table",
    bound="AugmentationTable | CorpusTable | DataTable | TermsTable | TokenizerTable"
    " | TrainingTable",
)


LEAST_RESERVED = 5
"""The most pieces of a kind that one made pair uses."""


class RecipeError(ValueError):
    """The recipe is invalid; the message gives the value and the allowed ones."""


@dataclass(frozen=True)
class CorpusTable:
    """One parallel corpus: UTF-8 TSV files, plain or .gz, one pair per line; without `train` it is
    used for evaluation only.

    `weight` is the number of passes over the training file per epoch (2.5: twice, and a random half
    once more).
    """

    name: str
    train: Path | None = None
    dev: Path | None = None
    test: Path | None = None
    weight: float = 1.0
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
    `placeholders` and `tags` with pieces of `model.text.reserved`. `short` is a share of the pairs
    with at most three words or six Chinese characters, and of recurring openings before commas
    ("Yes, ..."): 4.0 shows each about four more times."""

    cased: float = 0.0
    copied: float = 0.0
    joined: float = 0.0
    kept: float = 0.0
    short: float = 0.0
    unmarked: float = 0.0
    listed: float = 0.0
    placeholders: float = 0.0
    tags: float = 0.0
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

    Pairs with a side longer than `max_tokens` are dropped. With `is_lowercase` every text is
    lower-cased first, also in evaluation.
    """

    languages: tuple[str, str]
    corpora: tuple[CorpusTable, ...]
    max_tokens: int = 100
    is_one_way: bool = False
    is_lowercase: bool = False
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
    word_vectors: Path | None = None
    """Initial embeddings in the text format: a word and its numbers on each line."""


@dataclass(frozen=True)
class TrainingTable:
    """Optimisation (Vaswani et al. 2017, section 5), all lengths in optimiser steps.

    A batch holds at most `batch_tokens` tokens a side, padding included; a step sums the gradients
    of `accumulate` batches. `cooldown_steps` > 0 lowers the rate linearly to zero at the end.
    Gradients are scaled down to a norm of at most `clip_norm` (0: never). `patience` counts
    validations without a better dev BLEU (0: never stop early). `start` is a checkpoint that
    provides the initial weights and the vocabulary. With `grow` the run trains its own vocabulary
    and may have more layers (`model.training.growth`). `scheduled_sampling` is the share of target
    inputs at the last step that are the model's own predictions; it rises linearly from 0
    (Mihaylova and Martins 2019), and each step decodes twice.
    """

    max_steps: int
    batch_tokens: int = 4096
    accumulate: int = 1
    warmup_steps: int = 4000
    cooldown_steps: int = 0
    rate_factor: float = 1.0
    label_smoothing: float = 0.1
    scheduled_sampling: float = 0.0
    clip_norm: float = 1.0
    initialisation: Literal["xavier", "kaiming"] = "xavier"
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    validate_every: int = 1000
    validation_sentences: int = 200
    save_every: int = 500
    average_last: int = 5
    patience: int = 10
    seed: int = 1
    start: Path | None = None
    grow: bool = False


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


def load_recipe(path: Path) -> Recipe:
    """Read and check a recipe; raises RecipeError."""
    try:
        raw = tomllib.loads(read_text(path, _MOST_BYTES).removeprefix("\ufeff"))
    except FileError as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error
    except RecursionError as error:
        raise RecipeError(f"cannot read the recipe {path}: it is nested too deeply") from error
    except ValueError as error:  # also from huge integers
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error
    _refuse_unknown(raw, {"name", "model", "data", "tokenizer", "training", "decoding"}, "recipe")
    data = _section(raw, "data")
    corpora = data.pop("corpora", [])
    if not isinstance(corpora, list) or not corpora:
        raise RecipeError("[[data.corpora]] must name at least one corpus")
    if not all(isinstance(corpus, dict) for corpus in corpora):
        raise RecipeError(f"every entry of data.corpora must be a table, got {shown(corpora)}")
    decoding = _section(raw, "decoding")
    max_source_tokens = decoding.pop("max_source_tokens", None)
    recipe = Recipe(
        name=raw.get("name", path.stem),
        model=_section(raw, "model"),
        data=_table(
            DataTable,
            {
                **data,
                "corpora": tuple(_table(CorpusTable, c, "data.corpora") for c in corpora),
                "augmentation": _table(
                    AugmentationTable, _section(data, "augmentation"), "data.augmentation"
                ),
                "terms": _table(TermsTable, _section(data, "terms"), "data.terms"),
            },
            "data",
        ),
        tokenizer=_table(TokenizerTable, _section(raw, "tokenizer"), "tokenizer"),
        training=_table(TrainingTable, _section(raw, "training"), "training"),
        decoding=decoding,
        max_source_tokens=max_source_tokens,
    )
    _check(recipe)
    return recipe


def _section(raw: dict[str, Any], name: str) -> dict[str, Any]:
    section = raw.get(name, {})
    if not isinstance(section, dict):
        raise RecipeError(f"[{name}] must be a table, got {shown(section)}")
    return dict(section)


def _refuse_unknown(values: dict[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(values) - known):
        raise RecipeError(f"unknown key {shown(unknown[0])} in {where}; known: {sorted(known)}")


def _table(kind: type[_Table], values: dict[str, Any], where: str) -> _Table:
    """One dataclass from one TOML table; every value is checked against its annotation."""
    hints = get_type_hints(kind)
    _refuse_unknown(values, set(hints), f"[{where}]")
    required = {f.name for f in fields(kind) if f.default is MISSING}
    if missing := sorted(required - set(values)):
        raise RecipeError(f"[{where}] lacks {missing[0]!r}")
    return kind(
        **{key: _value(hints[key], value, f"{where}.{key}") for key, value in values.items()}
    )


def _value(hint: Any, value: Any, where: str) -> Any:
    if choices := [c for c in get_args(hint) if isinstance(c, str)]:
        if value not in choices:
            raise RecipeError(f"{where} must be one of {choices}, got {shown(value)}")
        return value
    if hint == tuple[str, str] and not _is_list_of_strings(value):
        raise RecipeError(f"{where} must be a list of strings, got {shown(value)}")
    if hint in (int, float):
        return _number(hint, value, where)
    if hint is bool and not isinstance(value, bool):
        raise RecipeError(f"{where} must be true or false, got {shown(value)}")
    if hint is Path or Path in get_args(hint):
        return Path(_value(str, value, where))
    if hint is str and not isinstance(value, str):
        raise RecipeError(f"{where} must be a string, got {shown(value)}")
    if hint is str and not (value and value.isprintable()):
        raise RecipeError(f"{where} must be of printable characters, got {shown(value)}")
    return tuple(value) if isinstance(value, list) else value


def _number(kind: type, value: Any, where: str) -> Any:
    is_number = is_whole_number(value) or (kind is float and isinstance(value, float))
    if not is_number or not 0 <= value < math.inf:
        raise RecipeError(f"{where} must be a number of at least 0, got {shown(value)}")
    is_share = where.startswith("data.augmentation.") and kind is float
    most = _MOST_SHARE if is_share else _MOST.get(where, _MOST_OTHERS)
    if value > most:
        raise RecipeError(f"{where} must be at most {most}, got {shown(value)}")
    return kind(value)


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check(recipe: Recipe) -> None:
    if not is_name(recipe.name):
        raise RecipeError(
            f"name must be a line of 1 to 200 printable characters, got {shown(recipe.name)}"
        )
    languages = recipe.data.languages
    if wrong := [code for code in languages if not is_code(code)]:
        raise RecipeError(
            "data.languages must be codes such as 'en' or 'zh-Hant', got " + shown(wrong[0])
        )
    if len(languages) != 2 or len(set(languages)) != 2:
        raise RecipeError(
            f"data.languages must be two different codes, got {shown(list(languages))}"
        )
    for corpus in recipe.data.corpora:
        if not (corpus.train or corpus.dev or corpus.test):
            raise RecipeError(f"corpus {corpus.name!r} needs a file: train, dev or test")
    if recipe.data.max_tokens < 1:
        raise RecipeError(f"data.max_tokens must be at least 1, got {recipe.data.max_tokens}")
    _check_training(recipe.training)
    _check_reserved(recipe)
    _check_max_source_tokens(recipe)
    if recipe.training.batch_tokens < recipe.data.max_tokens + 2:
        raise RecipeError(
            f"training.batch_tokens must hold one longest sentence ({recipe.data.max_tokens + 2}), "
            f"got {recipe.training.batch_tokens}"
        )
    try:
        config = recipe.model_config(recipe.tokenizer.vocab_size)
        DecodingOptions.from_dict(recipe.decoding)
    except ConfigError as error:
        raise RecipeError(f"[model]: {error}") from error
    except OptionsError as error:
        raise RecipeError(f"[decoding]: {error}") from error
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
    if (augmentation.placeholders or augmentation.tags) and reserved < LEAST_RESERVED:
        raise RecipeError(
            "data.augmentation.placeholders and tags need tokenizer.reserved_pieces of at least "
            f"{LEAST_RESERVED}, got {reserved}"
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
    for name in ("label_smoothing", "scheduled_sampling"):
        if getattr(table, name) > 1:
            raise RecipeError(
                f"training.{name} must be a number from 0 to 1, got {getattr(table, name)}"
            )
    if table.validate_every % table.save_every:
        raise RecipeError(
            f"training.validate_every must be a multiple of training.save_every "
            f"({table.save_every}), because only saved states are validated, "
            f"got {table.validate_every}"
        )
