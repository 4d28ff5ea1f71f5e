"""The weights of a checkpoint, in a safetensors file, as NumPy arrays."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from model.checkpoint.files import CheckpointError
from model.files import reason_of
from model.values import shown

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""NumPy's types of the same size."""
_HALF_EXPONENT = 0x7C00
"""The bits of a float16 number that are all set in infinity and NaN."""
StoredWeight = NDArray[np.float32] | NDArray[np.float16]


class StoredWeights(Mapping[str, StoredWeight]):
    """The weights in a safetensors file. Each is read on access, as float16 if it is stored so and
    else as float32, so the rest of the file takes no memory: none of it is mapped, and it is opened
    each time."""

    def __init__(self, path: Path) -> None:
        """Raises CheckpointError."""
        self._path = path
        try:
            with safe_open(path, framework="np"):  # checks the header
                pass
            with path.open("rb") as file:
                self._version = _version(file)
                (size,) = struct.unpack("<Q", file.read(8))
                self._start = 8 + size
                header: dict[str, Any] = json.loads(file.read(size))
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"{path} is not a safetensors file: {reason_of(error)}"
            ) from error
        header.pop("__metadata__", None)
        self._header = header
        self.shapes = {name: tuple(described["shape"]) for name, described in header.items()}
        for name, described in header.items():
            if described["dtype"] not in _DTYPES:
                raise CheckpointError(
                    f"{path} holds {shown(name)} as {described['dtype']}; weights must be one of "
                    f"{', '.join(_DTYPES)}"
                )

    @property
    def identity(self) -> str:
        """Of the file with its contents."""
        return f"{self._path.resolve()} {self._version}"

    def __getitem__(self, name: str) -> StoredWeight:
        shape, described = self.shapes[name], self._header[name]
        try:
            with self._path.open("rb") as file:
                is_same = _version(file) == self._version
                file.seek(self._start + described["data_offsets"][0])
                numbers = np.fromfile(file, _DTYPES[described["dtype"]], math.prod(shape))
        except OSError as error:
            raise CheckpointError(
                f"cannot read {name} of {self._path}: {reason_of(error)}"
            ) from error
        if not is_same:
            raise CheckpointError(f"{self._path} has changed since it was opened")
        if described["dtype"] == "BF16":  # the upper halves of float32 numbers
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        is_half = described["dtype"] == "F16"
        weight = (numbers if is_half else numbers.astype(np.float32, copy=False)).reshape(shape)
        if not _is_finite(weight):
            raise CheckpointError(f"{self._path} holds numbers in {name!r} that are not finite")
        return weight

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


def _version(file: BinaryIO) -> tuple[int, int, int]:
    """Changes when the file is replaced or written."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_finite(weight: StoredWeight) -> bool:
    """Whether every number is finite: infinity and NaN show in the minimum or the maximum. NumPy
    finds these slowly in float16, where the bits of the exponent show them."""
    if weight.size == 0:
        return True
    if weight.dtype == np.float16:
        return bool((weight.view(np.uint16) & _HALF_EXPONENT).max() < _HALF_EXPONENT)
    return bool(np.isfinite([weight.min(), weight.max()]).all())
