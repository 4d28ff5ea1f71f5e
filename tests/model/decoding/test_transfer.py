"""Arrays that reach the device in one copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.transfer import Transfer

CPU = torch.device("cpu")
ARRAYS: list[NDArray[Any]] = [
    np.array([[3, -5, 2**62]], np.int64),
    np.array([True, False, True]),
    np.zeros((0, 4), np.int64),
    np.array([[0.5], [-1e30], [float("inf")]], np.float32),
    np.arange(12, dtype=np.int64).reshape(3, 4).T,
]


def test_arrays_of_any_type_and_size_arrive_as_they_are() -> None:
    arrived: list[Tensor] = []
    one = Transfer(CPU)
    one.add(lambda *tensors: arrived.extend(tensors), *ARRAYS[:3])
    one.add(lambda *tensors: arrived.extend(tensors), *ARRAYS[3:])
    assert arrived == []
    one.run()
    for array, tensor in zip(ARRAYS, arrived, strict=True):
        assert np.array_equal(array, tensor.numpy())
        assert torch.from_numpy(array).dtype == tensor.dtype


def test_what_changes_after_it_was_added_is_the_callers_to_avoid_but_not_after_the_run() -> None:
    array, arrived = np.array([1, 2]), list[Tensor]()
    one = Transfer(CPU)
    one.add(arrived.append, array)
    one.run()
    array[0] = 9
    assert arrived[0].tolist() == [1, 2]
