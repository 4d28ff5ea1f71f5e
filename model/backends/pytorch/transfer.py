"""Asynchronous copies from the host to the device and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.decoding.decoder import Result

_ALIGNMENT = 16
TENSOR_TYPES: dict[type[Any], torch.dtype] = {
    np.int64: torch.int64,
    np.float32: torch.float32,
    np.bool_: torch.bool,
}


def to_device(
    values: Sequence[Any] | NDArray[Any], device: torch.device, dtype: torch.dtype | None = None
) -> Tensor:
    """Copy numbers, or lists of them, to a tensor on the device. An array must not change any more.
    On a GPU the copy is asynchronous, in stream order."""
    tensor = torch.from_numpy(np.asarray(values))
    if dtype is not None:
        tensor = tensor.to(dtype)
    if device.type != "cuda":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


def overwrite(tensor: Tensor, values: NDArray[Any]) -> None:
    """Copy an array, which must not change any more, into a tensor of its shape and type. On a GPU
    the copy is asynchronous, in stream order."""
    given = torch.from_numpy(values)
    tensor.copy_(given.pin_memory() if tensor.is_cuda else given, non_blocking=True)


class Transfer:
    """Arrays that reach the device in one copy, and what is done with them there."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._parts: list[tuple[Callable[..., object], Sequence[NDArray[Any]]]] = []

    def add(self, use: Callable[..., object], *arrays: NDArray[Any]) -> None:
        """Have `run` call `use` with these arrays as tensors, after what was added before."""
        self._parts.append((use, arrays))

    @torch.inference_mode()
    def run(self) -> None:
        """Copy the arrays and use them. On a GPU it is asynchronous, in stream order."""
        if not self._parts:
            return
        tensors = iter(_sent([one for _, arrays in self._parts for one in arrays], self._device))
        for use, arrays in self._parts:
            use(*itertools.islice(tensors, len(arrays)))
        self._parts.clear()


def _sent(arrays: Sequence[NDArray[Any]], device: torch.device) -> list[Tensor]:
    """The arrays on the device, as parts of one tensor of bytes."""
    sizes = [-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays]
    *starts, size = itertools.accumulate(sizes, initial=0)
    packed = bytearray(size)
    for array, start in zip(arrays, starts, strict=True):
        packed[start : start + array.nbytes] = array.tobytes()
    sent = to_device(np.frombuffer(packed, np.uint8), device)
    views = {
        dtype: sent.view(TENSOR_TYPES[dtype]) for dtype in {array.dtype.type for array in arrays}
    }
    return [
        views[array.dtype.type].as_strided(
            array.shape, _strides(array.shape), start // array.itemsize
        )
        for array, start in zip(arrays, starts, strict=True)
    ]


def _strides(shape: Sequence[int]) -> list[int]:
    """Strides of a contiguous tensor, in elements."""
    return [math.prod(shape[place + 1 :]) for place in range(len(shape))]


class DeviceToHost(Generic[Result]):
    """A pending copy of tensors to the host: a snapshot in stream order. CPU tensors are not
    copied, so the caller must not change them."""

    def __init__(self, tensors: Sequence[Tensor], read: Callable[..., Result]) -> None:
        """`read` converts the copies to the result."""
        self._read = read
        self._event: torch.cuda.Event | None = None
        self._copies = list(tensors)
        if not tensors[0].is_cuda:
            return
        self._copies = [
            torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in tensors
        ]
        for copy, tensor in zip(self._copies, tensors, strict=True):
            copy.copy_(tensor, non_blocking=True)
        self._event = torch.cuda.Event(blocking=True)  # spinning would take a core
        number = tensors[0].get_device()  # without it PyTorch looks for the device
        self._event.record(torch.cuda.current_stream(number))

    def wait(self) -> Result:
        if self._event is not None:
            self._event.synchronize()
        return self._read(*self._copies)
