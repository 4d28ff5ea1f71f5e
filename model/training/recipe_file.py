"""A recipe's TOML file: every table and key is known, every value has its annotated type.

A file may list stages (`[[stages]]`), each with a name of its own. A stage has the settings of the
one before it, except those that it names, and begins with the result of the stage `start`. A stage
with `mean` is not trained: its result is the mean of the results of those stages.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

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
    check_recipe,
)
from model.values import is_whole_number, shown

_MOST_BYTES = 2**22
_WEIGHT = "data.corpora.weight"
_MOST = {
    _WEIGHT: 10_000,
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
_SPLITS = frozenset({"train", "dev", "test"})
_FILES = "data/{name}/{split}.tsv"
_STAGE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
CHECKPOINT_DIRECTORY = "checkpoint"
"""Of the result, in a run's directory."""

_Table = TypeVar(
    "_Table",
    bound="AugmentationTable | CorpusTable | DataTable | TermsTable | TokenizerTable"
    " | TrainingTable",
)


class TrainingStage(NamedTuple):
    """A training run in a directory, or without a recipe the mean of earlier results."""

    directory: Path
    recipe: Recipe | None
    sources: tuple[Path, ...] = ()
    is_int8: bool = False

    @property
    def result(self) -> Path:
        """The finished checkpoint."""
        return self.directory / CHECKPOINT_DIRECTORY


def load_recipe(path: Path) -> Recipe:
    """Read and check a recipe; if it has stages, that of the last one that is trained. Raises
    RecipeError."""
    recipes = [stage.recipe for stage in load_stages(path, Path()) if stage.recipe]
    if not recipes:
        raise RecipeError("one of the stages must be trained")
    return recipes[-1]


def load_stages(path: Path, directory: Path) -> list[TrainingStage]:
    """Read and check the stages of a recipe that is run in `directory`; a recipe without stages is
    one. Raises RecipeError."""
    raw = {"name": path.stem, **_parse(path)}
    if (listed := raw.pop("stages", None)) is None:
        return [TrainingStage(directory, _recipe(raw))]
    stages: dict[str, TrainingStage] = {}
    for changes in _tables(listed, "stages"):
        name = _stage_name(changes.pop("name", None), stages)
        if "mean" in changes:
            stages[name] = TrainingStage(directory / name, None, *_mean(changes, stages))
        else:
            raw = _merged(raw, _with_start(changes, stages))
            stages[name] = TrainingStage(directory / name, _recipe(raw))
    return list(stages.values())


def _stage_name(name: Any, earlier: Mapping[str, TrainingStage]) -> str:
    if not isinstance(name, str) or not _STAGE_NAME.fullmatch(name) or name in earlier:
        raise RecipeError(
            "stages.name must be small letters, digits and hyphens, another one for each stage, "
            f"got {shown(name)}"
        )
    return name


def _mean(
    stage: dict[str, Any], earlier: Mapping[str, TrainingStage]
) -> tuple[tuple[Path, ...], bool]:
    """The results that a stage is the mean of, and whether it is stored in int8."""
    _refuse_unknown(stage, {"mean", "int8"}, "a stage with mean")
    names = stage["mean"] if _is_list_of_strings(stage["mean"]) else []
    is_int8: bool = _value(bool, stage.get("int8", False), "stages.int8")
    return tuple(_result_of(name, earlier) for name in names or [None]), is_int8


def _with_start(stage: dict[str, Any], earlier: Mapping[str, TrainingStage]) -> dict[str, Any]:
    """A stage's changes, with the checkpoint of `start` as its `training.start`."""
    changes = {key: value for key, value in stage.items() if key != "start"}
    if "start" not in stage:
        return changes
    return _merged(changes, {"training": {"start": str(_result_of(stage["start"], earlier))}})


def _result_of(name: Any, earlier: Mapping[str, TrainingStage]) -> Path:
    if not isinstance(name, str) or name not in earlier:
        raise RecipeError(
            f"stages.start and mean must name earlier stages ({', '.join(earlier) or 'none'}), "
            f"got {shown(name)}"
        )
    return earlier[name].result


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`table` with the values of `changes`; tables within are merged likewise."""
    return {**table} | {
        key: _merged(table[key], value)
        if isinstance(value, dict) and isinstance(table.get(key), dict)
        else value
        for key, value in changes.items()
    }


def _recipe(raw: dict[str, Any]) -> Recipe:
    _refuse_unknown(raw, {"name", "model", "data", "tokenizer", "training", "decoding"}, "recipe")
    decoding = _section(raw, "decoding")
    recipe = Recipe(
        name=raw["name"],
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
    files: str = _value(str, section.pop("files", _FILES), "data.files")
    if "{name}" not in files or "{split}" not in files:
        raise RecipeError(f"data.files must have {{name}} and {{split}}, got {shown(files)}")
    listed = _tables(_named(section.pop("corpora", []), files), "data.corpora")
    corpora = [_table(CorpusTable, corpus, "data.corpora") for corpus in listed]
    augmentation, terms = _section(section, "augmentation"), _section(section, "terms")
    tables = {
        "corpora": _weighted(corpora, _section(section, "weights")),
        "augmentation": _table(AugmentationTable, augmentation, "data.augmentation"),
        "terms": _table(TermsTable, terms, "data.terms"),
    }
    section.pop("weights", None)
    return _table(DataTable, {**section, **tables}, "data")


def _named(corpora: Any, files: str) -> Any:
    """The corpora, with the `files` of those that name none; a name stands for a corpus."""
    if not isinstance(corpora, list):
        return corpora
    tables = [{"name": one} if isinstance(one, str) else one for one in corpora]
    return [_with_files(one, files) if isinstance(one, dict) else one for one in tables]


def _with_files(corpus: dict[str, Any], files: str) -> dict[str, Any]:
    if not _SPLITS.isdisjoint(corpus):
        return corpus
    stem = files.replace("{name}", str(corpus.get("name")))
    return {**corpus, **{split: stem.replace("{split}", split) for split in _SPLITS}}


def _weighted(corpora: list[CorpusTable], weights: dict[str, Any]) -> tuple[CorpusTable, ...]:
    """The corpora with the weights of `[data.weights]`, which leaves out those of weight 0."""
    _refuse_unknown(weights, {corpus.name for corpus in corpora}, "[data.weights]")
    changed = {name: _number(float, weight, _WEIGHT) for name, weight in weights.items()}
    return tuple(
        replace(corpus, weight=changed.get(corpus.name, corpus.weight))
        for corpus in corpora
        if changed.get(corpus.name) != 0
    )


def _tables(listed: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or not listed:
        raise RecipeError(f"[[{name}]] must have at least one entry")
    if not all(isinstance(entry, dict) for entry in listed):
        raise RecipeError(f"every entry of {name} must be a table, got {shown(listed)}")
    return [dict(entry) for entry in listed]


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
