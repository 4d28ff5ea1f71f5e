"""The weights of a checkpoint, in a safetensors file."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from model.checkpoint.files import CheckpointError
from model.files import (
    reason_of,
)
from model.values import shown

_DTYPES = ("F64", "F32", "F16", "BF16")


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


def _error_number(text: str) -> int:
    """The errno in a safetensors error, which keeps only the text."""
    found = re.search(r"os error (\d+)", text)
    return int(found[1]) if found else errno.EIO
