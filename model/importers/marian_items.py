"""Read the model files that Marian itself writes: `.npz`, and the `.bin` of marian-conv.

Both hold named matrices and the model's options as YAML, under the name "special:model.yml".
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from torch import Tensor

from model.files import FileError, read_text, reason_of
from model.importers.imported import SourceError
from model.importers.weights import refuse_inflation
from model.values import shown

_OPTIONS = "special:model.yml"
_BINARY_VERSION = 1
_FLOATS: dict[int, np.dtype[Any]] = {0x402: np.dtype("<f2"), 0x404: np.dtype("<f4")}
_TEXT = 0x101
_INT8 = (0x10001, 0x4101)
"""Codes of intgemm8 for every CPU: Marian's, and that of its fork for browsers."""
_ACTIVATION_SCALE = "_QuantMultA"
"""Ends the name of the scale of a layer's inputs, which our int8 measures itself."""
_MOST_RANK = 8
_MOST_YAML_BYTES = 2**26
_HEADER = np.dtype([(name, "<u8") for name in ("name", "type", "rank", "bytes")])
_DAMAGE = (
    *(OSError, ValueError, KeyError, EOFError, MemoryError, NotImplementedError),
    *(RuntimeError, TypeError, zipfile.BadZipFile),
)
"""Exceptions of the readers from damaged files."""


class MarianItems(NamedTuple):
    """A model's matrices by Marian's names, and its options: texts, lists of texts, or tables."""

    weights: dict[str, Tensor]
    options: dict[str, Any]


def read_items(path: Path) -> MarianItems:
    """Read a model file. Raises SourceError."""
    try:
        items = _read_npz(path) if path.suffix == ".npz" else _read_bin(path)
        weights = {name: torch.from_numpy(item) for name, item in items.items() if item.ndim == 2}
        options = items.get(_OPTIONS)
    except _DAMAGE as error:
        if isinstance(error, SourceError):
            raise
        reason = " ".join(reason_of(error).split()) or type(error).__name__
        raise SourceError(f"{path} is not a model of Marian: {reason}") from error
    if options is None:
        raise SourceError(f"{path} lacks {_OPTIONS}, in which Marian describes a model")
    text = bytes(options).split(b"\0")[0].decode("utf-8", "replace")
    return MarianItems(weights, _table(text, f"{_OPTIONS} of {path}"))


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a table, with all its values as texts: "no" is a word of a
    vocabulary. Raises SourceError."""
    try:
        return _table(read_text(path, _MOST_YAML_BYTES), str(path))
    except FileError as error:
        raise SourceError(str(error)) from error


def _table(text: str, where: str) -> dict[str, Any]:
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # of texts only; C is faster
    try:
        table = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"{where} is not readable YAML: {reason}") from error
    if not isinstance(table, Mapping):
        raise SourceError(f"{where} must be a table, got {shown(table)}")
    return dict(table)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    refuse_inflation(path, "models of Marian")
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _read_bin(path: Path) -> dict[str, NDArray[Any]]:
    data = _Cursor(np.memmap(path, np.uint8, "r"))
    version, count = data.take(np.dtype("<u8"), 2).tolist()
    if version != _BINARY_VERSION:
        raise SourceError(f"{path}: its version must be {_BINARY_VERSION}, got {version}")
    headers = data.take(_HEADER, count)
    names = [bytes(data.take(np.dtype("u1"), h["name"]))[:-1].decode() for h in headers]
    if headers["rank"].max(initial=0) > _MOST_RANK:
        raise ValueError(f"an item has more than {_MOST_RANK} dimensions")
    shapes = [data.take(np.dtype("<i4"), h["rank"]).tolist() for h in headers]
    (padding,) = data.take(np.dtype("<u8"), 1)
    data.take(np.dtype("u1"), padding)
    items = {}
    for name, shape, header in zip(names, shapes, headers, strict=True):
        item = _Cursor(data.take(np.dtype("u1"), header["bytes"]))
        if not name.endswith(_ACTIVATION_SCALE):
            items[name] = _item(name, int(header["type"]), shape, item)
    return items


def _item(name: str, kind: int, shape: list[int], data: _Cursor) -> NDArray[Any]:
    if kind == _TEXT:
        return data.take(np.dtype("i1"), math.prod(shape))
    if kind in _FLOATS:
        return data.take(_FLOATS[kind], math.prod(shape)).reshape(shape).copy()
    if kind in _INT8 and len(shape) == 2:
        return _widened(name, shape, data)
    raise SourceError(
        f"{name} has the type {kind:#x}: supported are float32, float16 and intgemm8; types that "
        "are packed for one kind of CPU are not"
    )


def _widened(name: str, shape: list[int], data: _Cursor) -> NDArray[np.float32]:
    """int8 as float32. Embeddings lie row by row, all else column by column; the number that the
    weights were multiplied with follows."""
    codes = data.take(np.dtype("i1"), math.prod(shape))
    (multiplier,) = data.take(np.dtype("<f4"), 1)
    if not multiplier > 0:
        raise ValueError(f"{name} has the multiplier {multiplier}")
    numbers = codes.astype(np.float32) / multiplier
    matrix = numbers.reshape(shape) if "Wemb" in name else numbers.reshape(shape[::-1]).T
    return np.ascontiguousarray(matrix, np.float32)


class _Cursor:
    """Takes numbers from bytes, one after the other."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data, self._place = data, 0

    def take(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """The next `count` numbers. Raises ValueError if there are not as many."""
        size = int(count) * kind.itemsize
        if not 0 <= size <= len(self._data) - self._place:
            raise ValueError("it ends too early")
        self._place += size
        return self._data[self._place - size : self._place].view(kind)
