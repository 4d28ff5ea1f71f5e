"""A recipe's TOML file: every table and key is known, every value has its annotated type."""

from __future__ import annotations

import math
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from model.files import read_text
from model.training.recipe import (
    AugmentationTable,
    CorpusTable,
    DataTable,
    Recipe,
    RecipeError,
    TermsTable,
    TokenizerTable,
    TrainingTable,
)
from model.training.recipe_checks import check_recipe
from model.values import is_whole_number, shown

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


def load_recipe(path: Path) -> Recipe:
    """Read and check a recipe; raises RecipeError."""
    raw = _parse(path)
    _refuse_unknown(raw, {"name", "model", "data", "tokenizer", "training", "decoding"}, "recipe")
    decoding = _section(raw, "decoding")
    recipe = Recipe(
        name=raw.get("name", path.stem),
        model=_section(raw, "model"),
        data=_data_table(_section(raw, "data")),
        tokenizer=_table(TokenizerTable, _section(raw, "tokenizer"), "tokenizer"),
        training=_table(TrainingTable, _section(raw, "training"), "training"),
        max_source_tokens=decoding.pop("max_source_tokens", None),
        decoding=decoding,
    )
    check_recipe(recipe)
    return recipe


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, _MOST_BYTES).removeprefix("\ufeff"))
    except RecursionError as error:
        raise RecipeError(f"cannot read the recipe {path}: it is nested too deeply") from error
    except ValueError as error:  # not readable, not TOML, or with a huge integer
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error


def _data_table(section: dict[str, Any]) -> DataTable:
    corpora = section.pop("corpora", [])
    if not isinstance(corpora, list) or not corpora:
        raise RecipeError("[[data.corpora]] must name at least one corpus")
    if not all(isinstance(corpus, dict) for corpus in corpora):
        raise RecipeError(f"every entry of data.corpora must be a table, got {shown(corpora)}")
    augmentation, terms = _section(section, "augmentation"), _section(section, "terms")
    tables = {
        "corpora": tuple(_table(CorpusTable, corpus, "data.corpora") for corpus in corpora),
        "augmentation": _table(AugmentationTable, augmentation, "data.augmentation"),
        "terms": _table(TermsTable, terms, "data.terms"),
    }
    return _table(DataTable, {**section, **tables}, "data")


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
