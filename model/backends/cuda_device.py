"""How a runner uses its device: its stream on a GPU, and what an error there means."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from model.device_lost import DeviceLost

ONE_RECORDING = threading.RLock()
"""Held while a graph is recorded: CUDA allows one recording in a process, and a synchronisation in
another thread breaks it."""


class ComputeDevice(Protocol):
    """The device that a runner computes on."""

    def in_use(self) -> AbstractContextManager[object]:
        """Compute on this device inside the block. Raises DeviceLost for an error that the device
        does not recover from; other errors pass."""
        ...


class Cpu:
    """The CPU needs no preparation."""

    def in_use(self) -> AbstractContextManager[object]:
        return contextlib.nullcontext()


class CudaDevice:
    """A GPU, with a stream of its own for one runner."""

    def __init__(
        self, device: torch.device, synchronise: Callable[[torch.device], None] | None = None
    ) -> None:
        """`synchronise` waits for the device; it raises RuntimeError if the context is broken."""
        self._device = device
        self._synchronise = synchronise or torch.cuda.synchronize
        configure_cuda()
        self._stream = torch.cuda.Stream(device)
        self._stream.wait_stream(torch.cuda.current_stream(device))

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        try:
            with torch.cuda.stream(self._stream):
                yield
        except RuntimeError as error:
            require_alive(self._device, error, self._synchronise)
            raise


def require_alive(
    device: torch.device,
    error: RuntimeError,
    synchronise: Callable[[torch.device], None] | None = None,
) -> None:
    """Raise DeviceLost if, after `error`, the device cannot even be waited for. A CUDA error of one
    operation leaves the context usable; a sticky one makes every later call fail."""
    if isinstance(error, DeviceLost):
        raise error
    try:
        with ONE_RECORDING:
            (synchronise or torch.cuda.synchronize)(device)
    except RuntimeError as broken:
        first_line = str(broken).partition("\n")[0]
        raise DeviceLost(f"{device} does not compute any more: {first_line}") from error


def configure_cuda() -> None:
    """Set what PyTorch decides for the whole process, in serving and in training.

    cuDNN's attention builds a plan for every new shape, tens of milliseconds each, and sources
    have any length. TensorFloat-32 and reduced-precision sums change results for a little speed.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def make_device(device: torch.device) -> ComputeDevice:
    return CudaDevice(device) if device.type == "cuda" else Cpu()
