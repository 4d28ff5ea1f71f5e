"""Records of a fixed size: fields of several types side by side, so that one operation copies all.

A record is a row of int64 words, in a tensor or an array. One structured type of numpy says where
its fields lie, for both.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from model.backends.pytorch.transfer import TENSOR_TYPES

RecordType = np.dtype[np.void]
WORD_BYTES = 8
_ALIGNMENT = 16
"""Each field begins at a multiple of this, in bytes: what a GPU reads at once, at most."""


def record_type(fields: Mapping[str, DTypeLike]) -> RecordType:
    """The type of a record with these fields, in order."""
    formats = [np.dtype(field) for field in fields.values()]
    sizes = [-(-field.itemsize // _ALIGNMENT) * _ALIGNMENT for field in formats]
    *starts, size = itertools.accumulate(sizes, initial=0)
    return np.dtype(
        {"names": list(fields), "formats": formats, "offsets": starts, "itemsize": size}
    )


def num_words(kind: RecordType) -> int:
    """Words of a record of this type."""
    return kind.itemsize // WORD_BYTES


def field_views(words: Tensor, kind: RecordType) -> dict[str, Tensor]:
    """The fields of records (..., W) by name, as views: (..., n) for n numbers, (...) for one."""
    content = words.view(torch.uint8)
    views = {}
    for name, (field, start, *_) in (kind.fields or {}).items():
        is_one, number = field.subdtype is None, field.base
        part = content[..., start : start + field.itemsize].view(TENSOR_TYPES[number.type])
        views[name] = part[..., 0] if is_one else part
    return views


def as_records(words: NDArray[np.int64], kind: RecordType) -> NDArray[np.void]:
    """Records (..., W) as a structured array (...), a view."""
    return words.view(kind)[..., 0]


def as_words(records: NDArray[np.void]) -> NDArray[np.int64]:
    """A structured array (N,) as records (N, W), a view."""
    return records.view(np.int64).reshape(len(records), -1)
