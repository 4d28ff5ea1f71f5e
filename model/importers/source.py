"""A foreign model's directory: its JSON files, their numbers and names, its weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from torch import Tensor

from model.decoding.options import DecodingOptions
from model.files import FileError, is_regular, read_json
from model.importers.formats import WEIGHT_FILES
from model.importers.imported import SourceError
from model.importers.weights import read_weights
from model.network.config import Activation
from model.values import is_file_name, is_whole_number, shown

ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "swish": "silu",
    "silu": "silu",
}
_MAX_BEAM = 16
_MOST_JSON_BYTES = 2**28
_MOST = 2**21
"""The largest number in a config.json; ModelConfig has narrower bounds."""


class SharedOptions(TypedDict):
    """Options of ModelConfig with the same names in every family's config.json."""

    d_model: int
    n_heads: int
    d_ff: int
    dropout: float
    n_encoder_layers: int
    n_decoder_layers: int
    max_positions: int
    activation: Activation
    scale_embeddings: bool


class SpecialIds(TypedDict):
    """ModelConfig's options for tokens of every family."""

    pad_id: int
    bos_id: int
    eos_id: int


class SourceDirectory:
    """A directory in Hugging Face layout; every error is a SourceError with a full message."""

    def __init__(self, path: Path, name: str = "") -> None:
        """`name`: the model's, by default the directory's."""
        self.path = path
        self.name = name or path.name

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json."""
        self.file("config.json")
        return self.json("config.json")

    @cached_property
    def tokenizer(self) -> dict[str, Any]:
        """tokenizer_config.json, or an empty object."""
        return self.json("tokenizer_config.json")

    @cached_property
    def generation(self) -> dict[str, Any]:
        """Decoding settings: config.json's, overridden by generation_config.json."""
        return {**self.config, **self.json("generation_config.json")}

    def file(self, name: str) -> Path:
        """The path of a required file."""
        if not self.has(name):
            raise SourceError(f"{self.path} lacks {name}, which this family of models needs")
        return self.path / name

    def has(self, name: str) -> bool:
        try:
            return is_regular(self.path / name)
        except FileError as error:
            raise SourceError(str(error)) from error

    def json(self, name: str) -> dict[str, Any]:
        """One JSON object; empty if there is no such file."""
        if not self.has(name):
            return {}
        try:
            parsed = read_json(self.path / name, _MOST_JSON_BYTES)
        except FileError as error:
            raise SourceError(str(error)) from error
        if not isinstance(parsed, dict):
            raise SourceError(f"{self.path / name} must hold one JSON object")
        return parsed

    def number(self, *names: str) -> int:
        """A whole number of config.json; all given names must agree on it."""
        values = [self._number(name) for name in names]
        if len(set(values)) > 1:
            raise SourceError(
                f"{self.path / 'config.json'}: {' and '.join(names)} must be equal, got {values}"
            )
        return values[0]

    def _number(self, name: str) -> int:
        value = self.config.get(name)
        if not is_whole_number(value):
            raise self._wrong(name, "a whole number", value)
        if not 1 <= value <= _MOST:
            raise self._wrong(name, f"from 1 to {_MOST}", value)
        return value

    def number_or(self, name: str, default: int) -> int:
        """A whole number of config.json that may be missing or null."""
        return default if self.config.get(name) is None else self._number(name)

    def flag(self, name: str, default: bool) -> bool:
        """A boolean of config.json."""
        value = self.config.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def special_id(self, name: str, piece: str, pieces: Sequence[str]) -> int:
        """The id of a required piece; config.json must agree with it."""
        if piece not in pieces:
            raise SourceError(f"{self.path}: the vocabulary lacks the piece {piece!r}")
        found, said = pieces.index(piece), self.config.get(name)
        if said is not None and (not is_whole_number(said) or said != found):
            raise self._wrong(name, f"{found}, the id of {piece!r} in the vocabulary", said)
        return found

    def _wrong(self, name: str, allowed: str, value: object) -> SourceError:
        return SourceError(
            f"{self.path / 'config.json'}: {name} must be {allowed}, got {shown(value)}"
        )

    def sizes(self) -> SharedOptions:
        """The options of ModelConfig that all families share."""
        return {
            "d_model": self.number("d_model"),
            "n_heads": self.number("encoder_attention_heads", "decoder_attention_heads"),
            "d_ff": self.number("encoder_ffn_dim", "decoder_ffn_dim"),
            "dropout": self.config.get("dropout", 0.1),
            "n_encoder_layers": self.number("encoder_layers"),
            "n_decoder_layers": self.number("decoder_layers"),
            "max_positions": self.number("max_position_embeddings"),
            "activation": self.activation(),
            "scale_embeddings": self.flag("scale_embedding", default=False),
        }

    def special_ids(self, pieces: Sequence[str]) -> SpecialIds:
        """Padding, the token that decoding starts from, and the end, in the target's pieces."""
        return {
            "pad_id": self.special_id("pad_token_id", "<pad>", pieces),
            "bos_id": self.start_id(),
            "eos_id": self.special_id("eos_token_id", "</s>", pieces),
        }

    def start_id(self) -> int:
        """The token that decoding starts from."""
        start = self.generation.get("decoder_start_token_id")
        if not is_whole_number(start):
            raise SourceError(
                f"{self.path}: decoder_start_token_id must be a whole number, got {shown(start)}"
            )
        return start

    def activation(self) -> Activation:
        """The feed-forward layers' activation by our name."""
        name = self.config.get("activation_function")
        if not isinstance(name, str) or name not in ACTIVATIONS:
            raise self._wrong("activation_function", f"one of {list(ACTIVATIONS)}", name)
        return ACTIVATIONS[name]

    def decoding(self) -> DecodingOptions:
        """The checkpoint's decoding defaults; a beam of four if they are missing."""
        beam_size = self._setting("num_beams", 4)
        return DecodingOptions.from_dict(
            {
                "beam_size": beam_size if beam_size < 1 else min(beam_size, _MAX_BEAM),
                "length_penalty": self._setting("length_penalty", 1.0),
                "repetition_penalty": self._setting("repetition_penalty", 1.0),
                "no_repeat_ngram_size": self._setting("no_repeat_ngram_size", 0),
            }
        )

    def _setting(self, name: str, default: float) -> Any:
        """A number for decoding; null and 0 mean the default."""
        value = self.generation.get(name) or default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SourceError(f"{self.path}: {name} must be a number, got {shown(value)}")
        return value

    def weights(self) -> dict[str, Tensor]:
        """Every tensor by its name without "model."; safetensors are preferred."""
        for name in WEIGHT_FILES:
            if self.has(name):
                return _plain(read_weights(self.path / name))
            if self.has(f"{name}.index.json"):
                shards = self._shards(f"{name}.index.json")
                parts = [read_weights(self.file(shard)) for shard in shards]
                return _plain({key: tensor for part in parts for key, tensor in part.items()})
        raise SourceError(f"{self.path} holds no weights: neither {' nor '.join(WEIGHT_FILES)}")

    def _shards(self, index: str) -> list[str]:
        weight_map = self.json(index).get("weight_map")
        names = weight_map.values() if isinstance(weight_map, dict) else ()
        if not names or not all(is_file_name(name) for name in names):
            raise SourceError(
                f"{self.path / index}: weight_map must name files of the same directory, "
                f"got {shown(weight_map)}"
            )
        return sorted(set(names))


def _plain(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("model."): tensor for name, tensor in weights.items()}
