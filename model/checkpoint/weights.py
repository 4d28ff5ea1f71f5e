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

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "<i1"}
"""NumPy's types of the same size."""
SCALES = ".scales"
"""Ends the name of a float32 vector: by its numbers the rows of a matrix in int8, whose name stands
before, are multiplied."""
_HALF_EXPONENT = 0x7C00
"""The bits of a float16 number that are all set in infinity and NaN."""
StoredWeight = NDArray[np.float32] | NDArray[np.float16]


class StoredWeights(Mapping[str, StoredWeight]):
    """The weights in a safetensors file. Each is read on access, as float16 if it is stored so and
    else as float32, so the rest of the file takes no memory: none of it is mapped, and it is opened
    each time. A matrix in int8 has the scales of its rows beside it, under its name and `SCALES`,
    and is read with them."""

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
        scales = {name + SCALES for name, own in header.items() if own["dtype"] == "I8"}
        self.shapes = {
            name: tuple(described["shape"])
            for name, described in header.items()
            if name not in scales
        }
        for name in header:
            self._require_readable(name)

    @property
    def identity(self) -> str:
        """Of the file with its contents."""
        return f"{self._path.resolve()} {self._version}"

    def __getitem__(self, name: str) -> StoredWeight:
        weight = self._read(name)
        if weight.dtype == np.int8:
            scales = self._read(name + SCALES)[:, None]
            with np.errstate(invalid="ignore", over="ignore"):  # refused below
                weight = np.multiply(weight, scales, dtype=np.float32)
        if not _is_finite(weight):
            raise CheckpointError(f"{self._path} holds numbers in {name!r} that are not finite")
        return weight

    def _read(self, name: str) -> NDArray[Any]:
        """What is stored under a name, in int8, float16 or float32. Raises CheckpointError."""
        described = self._header[name]
        try:
            with self._path.open("rb") as file:
                is_same = _version(file) == self._version
                file.seek(self._start + described["data_offsets"][0])
                size = math.prod(described["shape"])
                numbers = np.fromfile(file, _DTYPES[described["dtype"]], size)
        except OSError as error:
            raise CheckpointError(
                f"cannot read {name} of {self._path}: {reason_of(error)}"
            ) from error
        if not is_same:
            raise CheckpointError(f"{self._path} has changed since it was opened")
        if described["dtype"] == "BF16":  # the upper halves of float32 numbers
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        elif described["dtype"] == "F64":
            numbers = numbers.astype(np.float32)
        return numbers.reshape(described["shape"])

    def _require_readable(self, name: str) -> None:
        """Raise CheckpointError for another type than those of _DTYPES, and for a matrix in int8
        without scales."""
        described = self._header[name]
        kind, shape = described["dtype"], described["shape"]
        if kind not in _DTYPES:
            raise CheckpointError(
                f"{self._path} holds {shown(name)} as {kind}; weights must be one of "
                f"{', '.join(_DTYPES)}"
            )
        if kind != "I8":
            return
        scales = self._header.get(name + SCALES, {})
        found = scales.get("dtype"), scales.get("shape")
        if len(shape) != 2 or found != ("F32", shape[:1]):
            raise CheckpointError(
                f"{self._path} holds {shown(name)} of shape {shape} in I8, which needs two "
                f"dimensions and {shown(name + SCALES)} with a number in F32 for each row"
            )

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
