"""From the host to the device and back, without either waiting for the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result", covariant=True)


def to_device(
    values: Sequence[Any], device: torch.device, dtype: torch.dtype | None = None
) -> Tensor:
    """Numbers, or lists of them, as a tensor on the device. What it computes now goes on meanwhile,
    and only what is asked of it afterwards sees them."""
    tensor = torch.tensor(values, dtype=dtype)
    if device.type != "cuda":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


class Pending(Protocol[Result]):
    """What the host is told later."""

    def wait(self) -> Result:
        """The result, once it is there."""
        ...


class Ready(Generic[Result]):
    """What it need not wait for."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def wait(self) -> Result:
        return self._result


class DeviceToHost(Generic[Result]):
    """Tensors on their way to the host, as they are when everything that the device was asked until
    now is done. On the CPU they are there, and must not be changed any more."""

    def __init__(self, tensors: Sequence[Tensor], read: Callable[..., Result]) -> None:
        """`read` makes of them what the host wants to know."""
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
        self._event = torch.cuda.Event()
        self._event.record()

    def wait(self) -> Result:
        if self._event is not None:
            self._event.synchronize()
        return self._read(*self._copies)
