"""Choose devices by name. PyTorch is imported only if the machine may have a GPU, or one is asked
for."""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
from pathlib import Path

_logger = logging.getLogger(__name__)
_NAMES = re.compile(r"auto|cpu|cuda|cuda:\d{1,3}(,\d{1,3})*")
GPU_DRIVERS = tuple(
    map(Path, ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))
)
"""Of NVIDIA, WSL 2 and AMD. On Linux PyTorch finds no GPU unless one of these files exists."""


def resolve_devices(name: str) -> list[str]:
    """The devices of a name: "auto", "cpu", "cuda", "cuda:1", or "cuda:0,1" for two.

    "auto" becomes "cuda" if available, else "cpu". Raises ValueError if a device is missing, and
    ModuleNotFoundError if a GPU is asked for without PyTorch.
    """
    if not _NAMES.fullmatch(name):
        raise ValueError(f"device must be auto, cpu, cuda, cuda:1 or cuda:0,1, got {name!r}")
    if name == "cpu" or (name == "auto" and not may_have_gpu()):
        return ["cpu"]
    from model.backends.pytorch.devices import resolve_gpus

    return resolve_gpus(name)


def resolve_device(name: str) -> str:
    """As `resolve_devices`, for exactly one device."""
    devices = resolve_devices(name)
    if len(devices) > 1:
        raise ValueError(f"one device is needed here, got {name!r}")
    return devices[0]


def has_pytorch() -> bool:
    """Whether PyTorch is installed; it is not imported."""
    return importlib.util.find_spec("torch") is not None


def may_have_gpu() -> bool:
    """Whether PyTorch may find a GPU; it is not imported."""
    has_driver = any(path.exists() for path in GPU_DRIVERS)
    if has_driver and not has_pytorch():
        _logger.warning("a GPU is here, but PyTorch (dragoman[torch]) is not; the CPU computes")
    return has_pytorch() and (has_driver or not sys.platform.startswith("linux"))
