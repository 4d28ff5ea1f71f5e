"""What every importer reads from and returns: a foreign directory in, an `Imported` out."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from model.config import Activation, ModelConfig
from model.languages import Pairs
from model.options import DecodingOptions
from model.tokenizer import TokenizerConfig

ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "silu",
    "silu": "silu",
}
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_MAX_BEAM = 16


class SourceError(ValueError):
    """A model that cannot be imported; the message says what was found and what is supported."""


@dataclass(frozen=True)
class Wanted:
    """Languages that the user names: those to keep, or those that the model cannot tell itself."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


class Sizes(TypedDict):
    """Options of ModelConfig that every family's config.json holds in the same words."""

    d_model: int
    n_heads: int
    d_ff: int
    dropout: float
    n_encoder_layers: int
    n_decoder_layers: int
    max_positions: int
    activation: Activation
    scale_embeddings: bool


@dataclass(frozen=True)
class Imported:
    """A foreign model in our terms.

    `files` are the tokenizer's files by the names they get: copied, or a list written as JSON.
    """

    architecture: ModelConfig
    weights: dict[str, Tensor]
    tokenizer: TokenizerConfig
    files: Mapping[str, Path | list[str]]
    pairs: Pairs
    decoding: DecodingOptions


class SourceDirectory:
    """A directory in Hugging Face layout; everything raises SourceError with a ready sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json."""
        self.file("config.json")
        return self.json("config.json")

    @cached_property
    def tokenizer(self) -> dict[str, Any]:
        """tokenizer_config.json, or nothing."""
        return self.json("tokenizer_config.json")

    @cached_property
    def generation(self) -> dict[str, Any]:
        """Decoding settings: config.json's, which generation_config.json overrides."""
        return {**self.config, **self.json("generation_config.json")}

    def file(self, name: str) -> Path:
        """The path of a file that must be there."""
        if not (path := self.path / name).is_file():
            raise SourceError(f"{self.path} lacks {name}, which this family of models needs")
        return path

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """One JSON object; empty if there is no such file."""
        if not self.has(name):
            return {}
        try:
            parsed = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise SourceError(f"{self.path / name} is not readable JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise SourceError(f"{self.path / name} must hold one JSON object")
        return parsed

    def number(self, *names: str) -> int:
        """A whole number of config.json, which several names must agree on."""
        values = [self.config.get(name) for name in names]
        if not isinstance(values[0], int) or isinstance(values[0], bool):
            raise SourceError(
                f"{self.path / 'config.json'}: {names[0]} must be a whole number, got {values[0]!r}"
            )
        if len(set(values)) > 1:
            raise SourceError(
                f"{self.path / 'config.json'}: {' and '.join(names)} must be equal, got {values}"
            )
        return values[0]

    def sizes(self) -> Sizes:
        """The options of ModelConfig that all families share."""
        return {
            "d_model": self.number("d_model"),
            "n_heads": self.number("encoder_attention_heads", "decoder_attention_heads"),
            "d_ff": self.number("encoder_ffn_dim", "decoder_ffn_dim"),
            "dropout": float(self.config.get("dropout", 0.1)),
            "n_encoder_layers": self.number("encoder_layers"),
            "n_decoder_layers": self.number("decoder_layers"),
            "max_positions": self.number("max_position_embeddings"),
            "activation": self.activation(),
            "scale_embeddings": bool(self.config.get("scale_embedding", False)),
        }

    def start_id(self) -> int:
        """The token that decoding starts from."""
        start = self.generation.get("decoder_start_token_id")
        if not isinstance(start, int):
            raise SourceError(
                f"{self.path}: decoder_start_token_id must be a whole number, got {start!r}"
            )
        return start

    def activation(self) -> Activation:
        """The feed-forward layers' activation in our words."""
        name = self.config.get("activation_function")
        if name not in ACTIVATIONS:
            raise SourceError(
                f"{self.path / 'config.json'}: activation_function must be one of "
                f"{list(ACTIVATIONS)}, got {name!r}"
            )
        return ACTIVATIONS[name]

    def decoding(self) -> DecodingOptions:
        """The checkpoint's own decoding defaults; beam search of four where it names none."""
        settings = self.generation
        return DecodingOptions.from_dict(
            {
                "beam_size": min(int(settings.get("num_beams") or 4), _MAX_BEAM),
                "length_penalty": float(settings.get("length_penalty") or 1.0),
                "repetition_penalty": float(settings.get("repetition_penalty") or 1.0),
                "no_repeat_ngram_size": int(settings.get("no_repeat_ngram_size") or 0),
            }
        )

    def weights(self) -> dict[str, Tensor]:
        """Every tensor by its name, "model." left out; safetensors are preferred."""
        for name in _WEIGHTS:
            if self.has(name):
                return _plain(read_weights(self.path / name))
            if self.has(f"{name}.index.json"):
                index = self.json(f"{name}.index.json")
                shards = sorted(set(index.get("weight_map", {}).values()))
                parts = [read_weights(self.file(shard)) for shard in shards]
                return _plain({key: tensor for part in parts for key, tensor in part.items()})
        raise SourceError(f"{self.path} holds no weights: neither {' nor '.join(_WEIGHTS)}")


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of a pickle that holds nothing but tensors."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise SourceError(f"{path} is not a safetensors file: {error}") from error
    weights = read_pickle(path)
    return {name: value for name, value in weights.items() if isinstance(value, Tensor)}


def read_pickle(path: Path, allowed: tuple[type, ...] = ()) -> dict[str, Any]:
    """A dictionary saved by torch, read without running anything in it."""
    try:
        with torch.serialization.safe_globals(list(allowed)):
            loaded = torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
    except pickle.UnpicklingError as error:
        reason = str(error).strip().splitlines()[0]
        raise SourceError(
            f"{path} holds more than weights, or no weights at all: {reason}"
        ) from error
    except (OSError, RuntimeError, EOFError) as error:
        raise SourceError(f"{path} is not readable: {error}") from error
    if not isinstance(loaded, dict):
        raise SourceError(f"{path} must hold a dictionary, got {type(loaded).__name__}")
    return loaded


def _plain(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("model."): tensor for name, tensor in weights.items()}
