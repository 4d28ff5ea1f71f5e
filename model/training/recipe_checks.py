"""Checks of a whole recipe: allowed ranges, required files, values that depend on each other."""

from __future__ import annotations

from model.decoding.options import DecodingOptions, OptionsError
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.network.config import ConfigError
from model.text.languages import is_code
from model.text.reserved import MAX_RESERVED
from model.training.recipe import Recipe, RecipeError, TrainingTable
from model.values import is_name, is_whole_number, shown

_RESERVED_IN_A_PAIR = 5
"""The most pieces of a kind that augmentation puts into one pair."""


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
