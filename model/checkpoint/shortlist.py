"""The shortlist of a checkpoint: a safetensors file with `first`, `offsets` and `tokens` of
`model.network.shortlist.Shortlist`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from model.checkpoint.files import CheckpointError
from model.files import reason_of
from model.network.config import ModelConfig
from model.network.shortlist import Shortlist, ShortlistError

SHORTLIST_FILE = "shortlist.safetensors"
_TYPES = {"first": np.int64, "offsets": np.int64, "tokens": np.int32}
Arrays = Mapping[str, NDArray[Any]]


def shortlist_bytes(first: int, offsets: NDArray[np.int64], tokens: NDArray[np.int32]) -> bytes:
    """The content of the file."""
    return save({"first": np.array([first]), "offsets": offsets, "tokens": tokens})


def load_shortlist(path: Path, config: ModelConfig, byte_ids: Mapping[int, int]) -> Shortlist:
    """A character's bytes are on a list together. Raises CheckpointError."""
    arrays = _read(path)
    of_characters = [token for token, byte in byte_ids.items() if byte >= 0x80]
    try:
        return Shortlist(
            int(arrays["first"][0]),
            arrays["offsets"],
            arrays["tokens"],
            config.tgt_vocab_size,
            config.eos_id,
            of_characters,
        )
    except ShortlistError as error:
        raise CheckpointError(f"{path} is no shortlist of this model: {error}") from error


def _read(path: Path) -> Arrays:
    try:
        arrays: Arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} is not a safetensors file: {reason_of(error)}") from error
    found = {name: array.dtype for name, array in arrays.items() if array.ndim == 1}
    if found != _TYPES or len(arrays["first"]) != 1:
        raise CheckpointError(f"{path} must hold the vectors {', '.join(_TYPES)} of a shortlist")
    return arrays
