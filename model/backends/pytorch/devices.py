"""GPUs in PyTorch: which are usable, a stream for each runner, and what an error means."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import torch

from model.backends.device_lost import DeviceLost
from model.decoding.decoder import Precision

_logger = logging.getLogger(__name__)
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_FIRST_WITH_BFLOAT16 = (8, 0)
ONE_RECORDING = threading.RLock()
"""Held while a graph is recorded: CUDA allows one recording in a process, and a synchronisation in
another thread breaks it."""


def resolve_gpus(name: str) -> list[str]:
    """As `model.backends.devices.resolve_devices` for a name that may mean GPUs; "auto" may still
    become "cpu"."""
    is_available = torch.cuda.is_available()
    if name == "auto" and not is_available:
        if _NVIDIA_DRIVER.exists():
            _logger.warning(
                "an NVIDIA GPU is here, but torch %s cannot use it; device auto serves on the CPU",
                torch.__version__,
            )
        return ["cpu"]
    if not is_available:
        raise ValueError(f"device {name!r} was asked for, but torch finds no usable CUDA GPU")
    kind, _, numbers = name.replace("auto", "cuda").partition(":")
    devices = [f"{kind}:{int(number)}" for number in numbers.split(",")] if numbers else [kind]
    for device in devices:
        _require_usable(device)
    if len(set(devices)) < len(devices):
        raise ValueError(f"device {name!r} names a GPU twice")
    return devices


def free_and_total_bytes(device: str) -> tuple[int, int]:
    """Free and all bytes of a GPU."""
    free, total = torch.cuda.mem_get_info(device)
    return free, total


def _require_usable(device: str) -> None:
    """Raise ValueError if torch has no such GPU, or no code for it."""
    count, index = torch.cuda.device_count(), torch.device(device).index or 0
    if index >= count:
        raise ValueError(f"device {device!r} was asked for, but torch finds {count} GPUs")
    major, minor = torch.cuda.get_device_capability(device)
    built = [int(name[3:].rstrip("af")) for name in torch.cuda.get_arch_list() if name[:3] == "sm_"]
    if built and 10 * major + minor < min(built):
        raise ValueError(
            f"device {device!r} has compute capability {major}.{minor}, and torch "
            f"{torch.__version__} was built for {min(built) / 10} and later"
        )


def has_bfloat16(device: str) -> bool:
    """Whether a GPU computes in bfloat16 (compute capability 8.0 and later)."""
    return torch.cuda.get_device_capability(device) >= _FIRST_WITH_BFLOAT16


def dtype_of(precision: Precision) -> torch.dtype:
    """The type of weights and caches in PyTorch. Raises ValueError for int8."""
    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if precision not in dtypes:
        raise ValueError("precision int8 is for the CPU, and needs model/backends/native compiled")
    return dtypes[precision]


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
        """As `torch.cuda.stream`, which looks for the device each time: that takes longer than the
        launch of a step."""
        previous = torch.cuda.current_stream(self._stream.device_index)
        torch.cuda.set_stream(self._stream)
        try:
            yield
        except RuntimeError as error:
            require_alive(self._device, error, self._synchronise)
            raise
        finally:
            torch.cuda.set_stream(previous)


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
