"""Load and save a checkpoint directory.

    config.json            architecture, languages, tokenizer files, decoding defaults
    model.safetensors      the weights
    *.model                sentencepiece
    self_test.json         a few translations, made by `model.checking`
    SHA256SUMS             checksums of all of these
    MODEL_CARD.md          for people

Loading never unpickles. Every fault becomes one CheckpointError that says how to fix it.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from model.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.files import (
    FileError,
    is_regular,
    read_json,
    read_text,
    reason_of,
    replacing_files,
)
from model.network.attention_maps import AttentionHead
from model.network.config import ModelConfig
from model.network.transformer import Transformer, weight_shapes
from model.text.languages import Languages, parse_pairs, render_pairs
from model.text.tokenizer import Tokenizer, TokenizerConfig
from model.values import is_file_name, is_name, is_whole_number, shown

FORMAT_VERSION = 1
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
SUMS_FILE = "SHA256SUMS"
SELF_TEST_FILE = "self_test.json"
_USUAL_SOURCE_TOKENS = 128
_MOST_SOURCE_TOKENS = 2**16
_MOST_TEXT_BYTES = 2**24
_DTYPES = ("F64", "F32", "F16", "BF16")


class CheckpointError(ValueError):
    """The checkpoint cannot be served; the message gives the value found and the one needed."""


@dataclass(frozen=True)
class CheckpointInfo:
    """The content of config.json."""

    name: str
    architecture: ModelConfig
    pairs: tuple[tuple[str, str], ...]
    tokenizer: TokenizerConfig
    decoding: DecodingOptions
    origin: Mapping[str, str] = field(default_factory=dict)
    """The origin of an imported checkpoint, such as its Hub id and commit."""
    max_source_tokens: int | None = None
    """The limit above which a sentence is better split, for a model trained on short sentences.
    None: the usual limit applies."""
    alignment_heads: tuple[AttentionHead, ...] = ()
    """The heads whose mean attention to the memory aligns words best; empty: not measured."""
    confidence: Mapping[tuple[str, str], Calibration] = field(default_factory=dict)
    """The calibration of confidence by pair; pairs that were not measured have none."""

    def source_limit(self, wanted: int | None) -> int:
        """The most tokens per sentence, tag and end included: `wanted`, or else the checkpoint's
        own limit, within the network's positions."""
        usual = min(_USUAL_SOURCE_TOKENS, self.max_source_tokens or _USUAL_SOURCE_TOKENS)
        return min(wanted or usual, self.architecture.max_positions)

    @property
    def own_codes(self) -> dict[str, str]:
        """The model family's language codes -> public codes."""
        return {tag.strip("_<>"): code for code, tag in self.tokenizer.tags.items()}

    @property
    def languages(self) -> Languages:
        """Sources first, then the remaining targets."""
        sides = [*(source for source, _ in self.pairs), *(target for _, target in self.pairs)]
        return Languages(sides, self.own_codes)


class StoredWeights(Mapping[str, Tensor]):
    """The weights in a safetensors file. Each is read as float32 on access, so the rest of the
    file takes no memory."""

    def __init__(self, path: Path) -> None:
        """Raises CheckpointError."""
        self._path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 - the file is not iterable
                    described = file.get_slice(name)
                    self.shapes[name] = tuple(described.get_shape())
                    self._check_dtype(name, described.get_dtype())
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"{path} is not a safetensors file: {reason_of(error)}"
            ) from error

    def _check_dtype(self, name: str, dtype: str) -> None:
        if dtype not in _DTYPES:
            raise CheckpointError(
                f"{self._path} holds {shown(name)} as {dtype}; weights must be one of "
                f"{', '.join(_DTYPES)}"
            )

    def __getitem__(self, name: str) -> Tensor:
        expected = self.shapes[name]
        try:
            with safe_open(self._path, framework="pt") as file:
                tensor: Tensor = file.get_tensor(name).to(torch.float32, copy=True)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"cannot read {name} of {self._path}: {reason_of(error)}"
            ) from error
        if tuple(tensor.shape) != expected:
            raise CheckpointError(f"{self._path} has changed since it was opened")
        if not is_finite(tensor):
            raise CheckpointError(f"{self._path} holds numbers in {name!r} that are not finite")
        return tensor

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


@dataclass(frozen=True)
class StoredModel:
    """A network still on disk: `model.decoding.network_interface.Model`."""

    config: ModelConfig
    weights: StoredWeights
    device: torch.device

    def on(self, device: str) -> StoredModel:
        """The same weights, to be loaded onto another device."""
        return StoredModel(self.config, self.weights, torch.device(device))

    def load(self, dtype: torch.dtype = torch.float32) -> Transformer:
        """Load it onto its device, in evaluation mode. Each weight is converted before it goes to
        the device, which needs memory for `dtype` only."""
        with torch.device("meta"):
            model = Transformer(self.config)
        weights = {name: weight.to(dtype).to(self.device) for name, weight in self.weights.items()}
        model.load_state_dict(weights, strict=False, assign=True)
        model.share_output()
        return model.to(self.device, dtype).eval()


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint whose files passed the checks but whose weights are not loaded."""

    info: CheckpointInfo
    model: StoredModel
    tokenizer: Tokenizer


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint: the network in evaluation mode, its tokenizer, its description."""

    info: CheckpointInfo
    model: Transformer
    tokenizer: Tokenizer


def open_checkpoint(directory: Path, device: torch.device | str = "cpu") -> StoredCheckpoint:
    """Check a checkpoint without reading its weights; raises CheckpointError."""
    _require_directory(directory)
    info = read_info(directory)
    listed = verify_sums(directory)
    tokenizer = _load_tokenizer(directory, info)
    _require_listed(directory, listed, info)
    weights = StoredWeights(directory / WEIGHTS_FILE)
    _require_fit(directory / WEIGHTS_FILE, weights, info.architecture)
    model = StoredModel(info.architecture, weights, torch.device(device))
    return StoredCheckpoint(info, model, tokenizer)


def load_checkpoint(directory: Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a checkpoint in float32; raises CheckpointError."""
    stored = open_checkpoint(directory, device)
    return Checkpoint(stored.info, stored.model.load(), stored.tokenizer)


def read_info(directory: Path) -> CheckpointInfo:
    """Read and check config.json; raises CheckpointError."""
    path = directory / CONFIG_FILE
    try:
        if not path.exists():
            raise CheckpointError(f"{directory} holds no {CONFIG_FILE}, so it is no checkpoint")
        raw = read_json(path, _MOST_TEXT_BYTES)
    except (FileError, OSError) as error:
        raise CheckpointError(_one_line(error, path)) from error
    try:
        return _parse_info(raw)
    except KeyError as error:
        raise CheckpointError(f"{path} does not describe a model: it lacks {error}") from error
    except ValueError as error:
        raise CheckpointError(f"{path} does not describe a model: {error}") from error


def save_checkpoint(
    directory: Path,
    info: CheckpointInfo,
    weights: dict[str, Tensor],
    tokenizer_files: list[Path],
    dtype: torch.dtype,
) -> None:
    """Write a checkpoint directory with checksums. Existing files are replaced after all new ones
    are written.

    Raises CheckpointError if a weight is not finite, and OSError if the disk is full.
    """
    stored = {name: tensor.to(dtype).contiguous() for name, tensor in weights.items()}
    for name, tensor in stored.items():
        if not is_finite(tensor):
            kind = str(dtype).removeprefix("torch.")
            raise CheckpointError(f"{name!r} holds numbers that are not finite in {kind}")
    with replacing_files(directory) as scratch:
        (scratch / CONFIG_FILE).write_text(_render_info(info), encoding="utf-8")
        save_weights(stored, scratch / WEIGHTS_FILE)
        for file in tokenizer_files:
            shutil.copyfile(file, scratch / file.name)
        _write_sums(scratch, {file.name: file for file in scratch.iterdir()})
    (directory / SELF_TEST_FILE).unlink(missing_ok=True)


def describe_again(directory: Path, info: CheckpointInfo) -> None:
    """Replace config.json and its checksum. Raises CheckpointError, or OSError if the disk is
    full."""
    add_to_checkpoint(directory, CONFIG_FILE, _render_info(info))


def add_to_checkpoint(directory: Path, name: str, text: str) -> None:
    """Write one more file and list it in SHA256SUMS. Raises OSError if the disk is full."""
    listed = verify_sums(directory) - {name}
    with replacing_files(directory) as scratch:
        (scratch / name).write_text(text, encoding="utf-8")
        files = {other: directory / other for other in listed} | {name: scratch / name}
        _write_sums(scratch, files)


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file with the usual file permissions. Raises OSError."""
    try:
        path.touch()
        mode = path.stat().st_mode
        save_file(weights, path)  # makes it readable by its owner only
        path.chmod(mode)
    except SafetensorError as error:
        number = _error_number(str(error))
        raise OSError(number, os.strerror(number), str(path)) from error


def is_finite(weight: Tensor) -> bool:
    """Whether every number is finite: infinity and NaN show in the minimum or the maximum."""
    return weight.numel() == 0 or bool(torch.stack(weight.aminmax()).isfinite().all())


def verify_sums(directory: Path) -> set[str]:
    """Compare every file with SHA256SUMS -> the listed files; raises CheckpointError."""
    path = directory / SUMS_FILE
    try:
        if not is_regular(path):
            raise CheckpointError(
                f"{directory} holds no {SUMS_FILE}, so its files cannot be verified"
            )
        lines = read_text(path, _MOST_TEXT_BYTES).split("\n")
    except FileError as error:
        raise CheckpointError(str(error)) from error
    listed = {_verify_line(directory, line) for line in lines if line}
    if missing := sorted({CONFIG_FILE, WEIGHTS_FILE} - listed):
        raise CheckpointError(f"{path} does not list {missing[0]}, which cannot be verified then")
    return listed


def _verify_line(directory: Path, line: str) -> str:
    """Verify one line of SHA256SUMS -> its file name."""
    expected, _, name = line.partition("  ")
    if not is_file_name(name):
        raise CheckpointError(
            f"{directory / SUMS_FILE} has a line that is not '<sha256>  <file>': {shown(line)}"
        )
    file = directory / name
    try:
        if not is_regular(file):
            raise CheckpointError(
                f"{directory} lacks {name}, which {SUMS_FILE} lists"
                + (": it is no regular file" if file.exists() or file.is_symlink() else "")
            )
        found = _sha256(file)
    except (FileError, OSError) as error:
        raise CheckpointError(_one_line(error, file)) from error
    if found != expected:
        raise CheckpointError(
            f"{file} does not match {SUMS_FILE}: the file is truncated or was changed"
        )
    return name


def _one_line(error: Exception, path: Path) -> str:
    return str(error) if isinstance(error, FileError) else f"cannot read {path}: {reason_of(error)}"


def _require_directory(directory: Path) -> None:
    try:
        is_there = directory.is_dir()
    except OSError as error:
        raise CheckpointError(
            f"no checkpoint at {shown(str(directory))}: {reason_of(error)}"
        ) from error
    if not is_there:
        raise CheckpointError(f"no checkpoint at {directory}: the directory does not exist")


def _parse_info(raw: Any) -> CheckpointInfo:
    """Raises KeyError or ValueError; the errors of the parts are ValueErrors."""
    if not isinstance(raw, dict):
        raise ValueError(f"it must hold one JSON object, got {type(raw).__name__}")
    if raw.get("format") != FORMAT_VERSION or not is_whole_number(raw["format"]):
        raise ValueError(f"format must be {FORMAT_VERSION}, got {shown(raw.get('format'))}")
    architecture, pairs = ModelConfig.from_dict(raw["architecture"]), parse_pairs(raw["pairs"])
    return CheckpointInfo(
        name=_parse_name(raw["name"]),
        architecture=architecture,
        pairs=pairs,
        tokenizer=TokenizerConfig.from_dict(raw["tokenizer"]),
        decoding=DecodingOptions.from_dict(raw["decoding"]),
        origin=_parse_origin(raw.get("origin", {})),
        max_source_tokens=_parse_max_source_tokens(raw.get("max_source_tokens")),
        alignment_heads=_parse_alignment_heads(raw.get("alignment_heads", []), architecture),
        confidence=_parse_confidence(raw.get("confidence", []), pairs),
    )


def _parse_name(value: Any) -> str:
    if not is_name(value):
        raise ValueError(
            f"name must be a line of 1 to 200 printable characters, got {shown(value)}"
        )
    return value


def _parse_origin(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"origin must be a table of texts, got {shown(value)}")
    return value


def _parse_max_source_tokens(value: Any) -> int | None:
    least, most = LEAST_SOURCE_TOKENS, _MOST_SOURCE_TOKENS
    if value is None or (is_whole_number(value) and least <= value <= most):
        return value
    if is_whole_number(value) and value > most:
        raise ValueError(f"max_source_tokens must be at most {most}, got {shown(value)}")
    raise ValueError(
        f"max_source_tokens must be an integer of at least {least}, got {shown(value)}"
    )


def _parse_alignment_heads(value: Any, config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Raises ValueError unless it lists [layer, head] pairs of the decoder, none twice."""
    layers, heads = config.n_decoder_layers, config.n_heads
    is_right = isinstance(value, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(map(is_whole_number, pair))
        and 0 <= pair[0] < layers
        and 0 <= pair[1] < heads
        for pair in value
    )
    if not is_right or len(set(map(tuple, value))) < len(value):
        raise ValueError(
            "alignment_heads must list different [layer, head] pairs, layers 0 to "
            f"{layers - 1} and heads 0 to {heads - 1}, got {shown(value)}"
        )
    return tuple((layer, head) for layer, head in value)


def _parse_confidence(
    value: Any, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Calibration]:
    """Raises ValueError unless it lists calibrations with a pair each, none twice."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError(f"confidence must be a list of tables, got {shown(value)}")
    parsed: dict[tuple[str, str], Calibration] = {}
    for entry in value:
        pair = next((pair for pair in pairs if list(pair) == entry.get("pair")), None)
        if pair is None or pair in parsed:
            raise ValueError(
                f"confidence must have different pairs of the model, got {shown(entry.get('pair'))}"
            )
        parsed[pair] = Calibration.from_dict({k: v for k, v in entry.items() if k != "pair"})
    return parsed


def _render_info(info: CheckpointInfo) -> str:
    raw = {
        "format": FORMAT_VERSION,
        "name": info.name,
        "pairs": render_pairs(info.pairs),
        "tokenizer": info.tokenizer.to_dict(),
        "architecture": dataclasses.asdict(info.architecture),
        "decoding": info.decoding.to_dict(),
        **({"max_source_tokens": info.max_source_tokens} if info.max_source_tokens else {}),
        **({"alignment_heads": info.alignment_heads} if info.alignment_heads else {}),
        **({"confidence": _render_confidence(info)} if info.confidence else {}),
        **({"origin": dict(info.origin)} if info.origin else {}),
    }
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def _render_confidence(info: CheckpointInfo) -> list[dict[str, Any]]:
    return [{"pair": pair, **entry._asdict()} for pair, entry in info.confidence.items()]


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


def _write_sums(directory: Path, files: Mapping[str, Path]) -> None:
    """Write SHA256SUMS in `directory` for files by name."""
    lines = [f"{_sha256(files[name])}  {name}\n" for name in sorted(files)]
    (directory / SUMS_FILE).write_text("".join(lines), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _error_number(text: str) -> int:
    """The errno in a safetensors error, which keeps only the text."""
    found = re.search(r"os error (\d+)", text)
    return int(found[1]) if found else errno.EIO
