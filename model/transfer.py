"""From the host to the device and back, without either waiting for the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def send(values: Sequence[Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers, or lists of them, as a tensor on the device. What it computes now goes on meanwhile,
    and only what is asked of it afterwards sees them."""
    tensor = torch.tensor(values, dtype=dtype)
    if device.type != "cuda":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


class Arrival:
    """Tensors on their way to the host, as they are when everything that the device was asked until
    now is done. On the CPU they are there, and must not be changed any more."""

    def __init__(self, *tensors: Tensor) -> None:
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

    def wait(self) -> list[Tensor]:
        """The tensors on the host, once they are there."""
        if self._event is not None:
            self._event.synchronize()
        return self._copies
