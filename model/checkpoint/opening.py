"""Check a checkpoint directory, and open it.

Every fault becomes one CheckpointError that says how to fix it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from model.checkpoint.files import (
    CONFIG_FILE,
    MOST_TEXT_BYTES,
    SUMS_FILE,
    WEIGHTS_FILE,
    CheckpointError,
    one_line,
    verify_sums,
)
from model.checkpoint.info import CheckpointInfo, parse_info
from model.checkpoint.shortlist import SHORTLIST_FILE, load_shortlist
from model.checkpoint.weights import StoredWeights
from model.files import FileError, is_regular, read_json, reason_of
from model.network.config import ModelConfig
from model.network.parameters import weight_shapes
from model.network.shortlist import Shortlist
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.values import shown


@dataclass(frozen=True)
class StoredNetwork:
    """A network still on disk, and the device that it is for."""

    config: ModelConfig
    weights: StoredWeights
    device: str
    shortlist: Shortlist | None = None

    def on(self, device: str) -> StoredNetwork:
        """The same weights, to be loaded onto another device."""
        return replace(self, device=device)


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint whose files passed the checks but whose weights are not loaded."""

    info: CheckpointInfo
    model: StoredNetwork
    tokenizer: Tokenizer


def open_checkpoint(directory: Path, device: str = "cpu") -> StoredCheckpoint:
    """Check a checkpoint without reading its weights; raises CheckpointError."""
    _require_directory(directory)
    info = read_info(directory)
    listed = verify_sums(directory)
    tokenizer = _load_tokenizer(directory, info)
    _require_listed(directory, listed, info)
    weights = StoredWeights(directory / WEIGHTS_FILE)
    _require_fit(directory / WEIGHTS_FILE, weights, info.architecture)
    shortlist = None
    if SHORTLIST_FILE in listed:
        path = directory / SHORTLIST_FILE
        shortlist = load_shortlist(path, info.architecture, tokenizer.byte_ids())
    model = StoredNetwork(info.architecture, weights, device, shortlist)
    return StoredCheckpoint(info, model, tokenizer)


def read_complete(directory: Path) -> CheckpointInfo:
    """As `read_info`, of a checkpoint that may still be copied: raises CheckpointError unless all
    its files are there, the small ones with their sums and the weights with their size."""
    info = read_info(directory)
    listed = verify_sums(directory, unread=[WEIGHTS_FILE])
    _require_listed(directory, listed, info)
    StoredWeights(directory / WEIGHTS_FILE)
    return info


def read_info(directory: Path) -> CheckpointInfo:
    """Read and check config.json; raises CheckpointError."""
    path = directory / CONFIG_FILE
    try:
        if not path.exists():
            raise CheckpointError(f"{directory} holds no {CONFIG_FILE}, so it is no checkpoint")
        raw = read_json(path, MOST_TEXT_BYTES)
    except (FileError, OSError) as error:
        raise CheckpointError(one_line(error, path)) from error
    try:
        return parse_info(raw)
    except KeyError as error:
        raise CheckpointError(f"{path} does not describe a model: it lacks {error}") from error
    except ValueError as error:
        raise CheckpointError(f"{path} does not describe a model: {error}") from error


def _require_directory(directory: Path) -> None:
    try:
        is_there = directory.is_dir()
    except OSError as error:
        raise CheckpointError(
            f"no checkpoint at {shown(str(directory))}: {reason_of(error)}"
        ) from error
    if not is_there:
        raise CheckpointError(f"no checkpoint at {directory}: the directory does not exist")


def _load_tokenizer(directory: Path, info: CheckpointInfo) -> Tokenizer:
    source, target = directory / info.tokenizer.source, directory / info.tokenizer.target
    try:
        for model in (source, target):
            if not is_regular(model):
                raise RuntimeError(f"there is no file {model}")
        tokenizer = Tokenizer(source, target, info.tokenizer)
    except FileError as error:
        raise CheckpointError(f"cannot read the tokenizer's files: {error}") from error
    except (OSError, RuntimeError) as error:
        raise CheckpointError(f"cannot read the sentencepiece model {source}: {error}") from error
    except ValueError as error:
        raise CheckpointError(f"cannot read the vocabulary of {directory}: {error}") from error
    sizes = (tokenizer.source_vocab_size, tokenizer.target_vocab_size)
    expected = (info.architecture.src_vocab_size, info.architecture.tgt_vocab_size)
    if sizes != expected:
        raise CheckpointError(
            f"{directory}: the tokenizer has {sizes} source and target pieces, "
            f"{CONFIG_FILE} says {expected}"
        )
    _require_special_ids(directory / CONFIG_FILE, info.architecture, tokenizer)
    _require_tags(directory / CONFIG_FILE, info.tokenizer, tokenizer)
    return tokenizer


def _require_special_ids(path: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Require that the network and the tokenizer agree on the special ids."""
    silent = [*tokenizer.control_ids(), tokenizer.eos_id]
    pads = [tokenizer.pad_id] if tokenizer.pad_id >= 0 else silent
    own_starts = [tokenizer.bos_id] if tokenizer.has_own_ids and tokenizer.bos_id >= 0 else []
    starts = own_starts or [tokenizer.bos_id, tokenizer.eos_id, *pads]
    for name, allowed in (("pad_id", pads), ("bos_id", starts), ("eos_id", [tokenizer.eos_id])):
        if (found := getattr(config, name)) not in allowed:
            meant = " or ".join(str(i) for i in sorted(set(allowed)) if i >= 0)
            raise CheckpointError(
                f"{path} says {name} {found}, which is {tokenizer.pieces([found])[0]!r} to the "
                f"tokenizer; it must be {meant}"
            )


def _require_tags(path: Path, config: TokenizerConfig, tokenizer: Tokenizer) -> None:
    known = {*tokenizer.source_pieces, *tokenizer.target_pieces}
    if absent := [tag for tag in config.tags.values() if tag not in known]:
        raise CheckpointError(f"{path} names the tag {shown(absent[0])}, which no vocabulary has")


def _require_listed(directory: Path, listed: set[str], info: CheckpointInfo) -> None:
    if missing := [name for name in info.tokenizer.files if name not in listed]:
        raise CheckpointError(
            f"{directory / SUMS_FILE} does not list {missing[0]}, which cannot be verified then"
        )


def _require_fit(path: Path, weights: StoredWeights, config: ModelConfig) -> None:
    expected = weight_shapes(config)
    if different := sorted(set(expected) ^ set(weights.shapes)):
        where = "the file" if different[0] in weights else "the architecture"
        raise CheckpointError(
            f"{path} does not fit {CONFIG_FILE}: tensor {shown(different[0])} is only in {where}"
        )
    for name, shape in expected.items():
        if weights.shapes[name] != shape:
            raise CheckpointError(
                f"{path} does not fit {CONFIG_FILE}: {name} has shape {weights.shapes[name]}, "
                f"expected {shape}"
            )
