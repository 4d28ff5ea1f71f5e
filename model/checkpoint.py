"""Load and save a checkpoint directory.

    config.json            architecture, languages, tokenizer files, decoding defaults
    model.safetensors      the weights
    *.model                sentencepiece
    SHA256SUMS             of all of these
    MODEL_CARD.md          for people

Loading never unpickles, and every fault becomes one CheckpointError that says what to mend.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from model.config import ConfigError, ModelConfig
from model.languages import Languages, parse_pairs, render_pairs
from model.options import DecodingOptions, OptionsError
from model.sentence import LEAST_SOURCE_TOKENS
from model.tokenizer import Tokenizer, TokenizerConfig
from model.transformer import Transformer

FORMAT_VERSION = 1
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
SUMS_FILE = "SHA256SUMS"
_USUAL_SOURCE_TOKENS = 128


class CheckpointError(ValueError):
    """A checkpoint that cannot be served; the message says what was found and what is needed."""


@dataclass(frozen=True)
class CheckpointInfo:
    """All of config.json."""

    name: str
    architecture: ModelConfig
    pairs: tuple[tuple[str, str], ...]
    tokenizer: TokenizerConfig
    decoding: DecodingOptions
    origin: Mapping[str, str] = field(default_factory=dict)
    """Where an imported checkpoint comes from, such as its Hub id and commit."""
    max_source_tokens: int | None = None
    """A sentence with more of them is better cut and translated in parts, by a model that learned
    short ones only. None: the usual limit holds."""

    def source_limit(self, wanted: int | None) -> int:
        """The most tokens that a sentence may have, the tag and the end included: as many as are
        wanted, or else as the checkpoint asks for, within the network's positions."""
        usual = min(_USUAL_SOURCE_TOKENS, self.max_source_tokens or _USUAL_SOURCE_TOKENS)
        return min(wanted or usual, self.architecture.max_positions)

    @property
    def own_codes(self) -> dict[str, str]:
        """What the model family calls the languages -> their public codes."""
        return {tag.strip("_<>"): code for code, tag in self.tokenizer.tags.items()}

    @property
    def languages(self) -> Languages:
        """Sources first, then what else is a target."""
        sides = [*(source for source, _ in self.pairs), *(target for _, target in self.pairs)]
        return Languages(sides, self.own_codes)


class StoredWeights(Mapping[str, Tensor]):
    """The weights in a safetensors file. Each is read, as float32, when it is asked for, so that
    nothing else of the file takes memory."""

    def __init__(self, path: Path) -> None:
        """Raises CheckpointError."""
        self._path = path
        try:
            with safe_open(path, framework="pt") as file:
                names = file.keys()
                slices = {name: file.get_slice(name) for name in names}
                self.shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
                dtypes = {name: part.get_dtype() for name, part in slices.items()}
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{path} is not a safetensors file: {error}") from error
        for name, dtype in dtypes.items():
            if not dtype.startswith(("F", "BF")):
                raise CheckpointError(f"{path}: {name} holds {dtype}, expected floating point")

    def __getitem__(self, name: str) -> Tensor:
        expected = self.shapes[name]
        try:
            with safe_open(self._path, framework="pt") as file:
                tensor: Tensor = file.get_tensor(name).to(torch.float32, copy=True)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"cannot read {name} of {self._path}: {error}") from error
        if tuple(tensor.shape) != expected:
            raise CheckpointError(f"{self._path} has changed since it was opened")
        return tensor

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


@dataclass(frozen=True)
class StoredModel:
    """A network that is still on disk: `model.network.Model`."""

    config: ModelConfig
    weights: StoredWeights
    device: torch.device

    def load(self) -> Transformer:
        """Read it onto its device, in evaluation mode."""
        with torch.device("meta"):
            model = Transformer(self.config)
        model.load_state_dict(dict(self.weights), strict=False, assign=True)
        model.share_output()
        return model.to(self.device).eval()


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint whose files are known to be whole and to fit each other."""

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
    if not directory.is_dir():
        raise CheckpointError(f"no checkpoint at {directory}: the directory does not exist")
    info = read_info(directory)
    verify_sums(directory)
    tokenizer = _load_tokenizer(directory, info)
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
        raw = json.loads(path.read_text(encoding="utf-8"))
        return _parse_info(raw)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{directory} holds no {CONFIG_FILE}, so it is no checkpoint"
        ) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is not readable JSON: {error}") from error
    except KeyError as error:
        raise CheckpointError(f"{path} does not describe a model: it lacks {error}") from error
    except (ConfigError, OptionsError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} does not describe a model: {error!s}") from error


def save_checkpoint(
    directory: Path,
    info: CheckpointInfo,
    weights: dict[str, Tensor],
    tokenizer_files: list[Path],
    dtype: torch.dtype,
) -> None:
    """Write a checkpoint directory, checksums included; a file already there is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / CONFIG_FILE).write_text(_render_info(info), encoding="utf-8")
    stored = {name: tensor.to(dtype).contiguous() for name, tensor in weights.items()}
    save_file(stored, directory / WEIGHTS_FILE)  # which lets only its owner read it
    shutil.copymode(directory / CONFIG_FILE, directory / WEIGHTS_FILE)
    for file in tokenizer_files:
        shutil.copyfile(file, directory / file.name)
    names = sorted({CONFIG_FILE, WEIGHTS_FILE, *(file.name for file in tokenizer_files)})
    sums = "".join(f"{_sha256(directory / name)}  {name}\n" for name in names)
    (directory / SUMS_FILE).write_text(sums, encoding="utf-8")


def verify_sums(directory: Path) -> None:
    """Compare every file with SHA256SUMS; raises CheckpointError."""
    path = directory / SUMS_FILE
    if not path.is_file():
        raise CheckpointError(f"{directory} holds no {SUMS_FILE}, so its files cannot be verified")
    listed = set()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        expected, _, name = line.partition("  ")
        file = directory / name
        listed.add(name)
        if not name or Path(name).name != name:
            raise CheckpointError(f"{path} has a line that is not '<sha256>  <file>': {line!r}")
        if not file.is_file():
            raise CheckpointError(f"{directory} lacks {name}, which {SUMS_FILE} lists")
        if _sha256(file) != expected:
            raise CheckpointError(
                f"{file} does not match {SUMS_FILE}: the file is truncated or was changed"
            )
    if missing := sorted({CONFIG_FILE, WEIGHTS_FILE} - listed):
        raise CheckpointError(f"{path} does not list {missing[0]}, which cannot be verified then")


def _parse_info(raw: Any) -> CheckpointInfo:
    if not isinstance(raw, dict):
        raise ValueError(f"it must hold one JSON object, got {type(raw).__name__}")
    if raw.get("format") != FORMAT_VERSION:
        raise ValueError(f"format must be {FORMAT_VERSION}, got {raw.get('format')!r}")
    return CheckpointInfo(
        name=str(raw["name"]),
        architecture=ModelConfig.from_dict(raw["architecture"]),
        pairs=parse_pairs(raw["pairs"]),
        tokenizer=TokenizerConfig.from_dict(raw["tokenizer"]),
        decoding=DecodingOptions.from_dict(raw["decoding"]),
        origin=dict(raw.get("origin", {})),
        max_source_tokens=_parse_max_source_tokens(raw.get("max_source_tokens")),
    )


def _parse_max_source_tokens(value: Any) -> int | None:
    least = LEAST_SOURCE_TOKENS
    if value is not None and not (isinstance(value, int) and value >= least):
        raise ValueError(f"max_source_tokens must be an integer of at least {least}, got {value!r}")
    return value


def _render_info(info: CheckpointInfo) -> str:
    raw = {
        "format": FORMAT_VERSION,
        "name": info.name,
        "pairs": render_pairs(info.pairs),
        "tokenizer": info.tokenizer.to_dict(),
        "architecture": dataclasses.asdict(info.architecture),
        "decoding": info.decoding.to_dict(),
        **({"max_source_tokens": info.max_source_tokens} if info.max_source_tokens else {}),
        **({"origin": dict(info.origin)} if info.origin else {}),
    }
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def _load_tokenizer(directory: Path, info: CheckpointInfo) -> Tokenizer:
    source, target = directory / info.tokenizer.source, directory / info.tokenizer.target
    try:
        tokenizer = Tokenizer(source, target, info.tokenizer)
    except FileNotFoundError as error:
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
    return tokenizer


def _require_fit(path: Path, weights: StoredWeights, config: ModelConfig) -> None:
    with torch.device("meta"):
        model = Transformer(config)
    expected = {name: tuple(weight.shape) for name, weight in model.weights.items()}
    if different := sorted(set(expected) ^ set(weights.shapes)):
        where = "the file" if different[0] in weights else "the architecture"
        raise CheckpointError(
            f"{path} does not fit {CONFIG_FILE}: tensor {different[0]!r} is only in {where}"
        )
    for name, shape in expected.items():
        if weights.shapes[name] != shape:
            raise CheckpointError(
                f"{path} does not fit {CONFIG_FILE}: {name} has shape {weights.shapes[name]}, "
                f"expected {shape}"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
