"""The weights of a checkpoint, in a safetensors file, as NumPy arrays."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from model.checkpoint.files import CheckpointError
from model.files import reason_of
from model.values import shown

_DTYPES = ("F64", "F32", "F16", "BF16")
Floats = NDArray[np.float32]


class StoredWeights(Mapping[str, Floats]):
    """The weights in a safetensors file. Each is read as float32 on access, so the rest of the
    file takes no memory."""

    def __init__(self, path: Path) -> None:
        """Raises CheckpointError."""
        self._path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        try:
            with safe_open(path, framework="np") as file:
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

    def __getitem__(self, name: str) -> Floats:
        expected = self.shapes[name]
        try:
            with safe_open(self._path, framework="np") as file:
                if file.get_slice(name).get_dtype() == "BF16":
                    weight = _read_bfloat16(self._path, name)
                else:
                    weight = np.asarray(file.get_tensor(name), np.float32)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"cannot read {name} of {self._path}: {reason_of(error)}"
            ) from error
        if weight.shape != expected:
            raise CheckpointError(f"{self._path} has changed since it was opened")
        if not _is_finite(weight):
            raise CheckpointError(f"{self._path} holds numbers in {name!r} that are not finite")
        return weight

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


def _read_bfloat16(path: Path, name: str) -> Floats:
    """A weight of a type that NumPy lacks: the upper halves of float32 numbers."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        described = json.loads(file.read(size))[name]
        start, end = described["data_offsets"]
        file.seek(8 + size + start)
        halves = np.frombuffer(file.read(end - start), "<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(described["shape"])


def _is_finite(weight: Floats) -> bool:
    """Whether every number is finite: infinity and NaN show in the minimum or the maximum."""
    return weight.size == 0 or bool(np.isfinite([weight.min(), weight.max()]).all())
