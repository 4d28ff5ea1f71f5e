"""Choose devices by name, and see what a card can compute."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import torch

from model.decoding.network_interface import Precision

_logger = logging.getLogger(__name__)
_NAMES = re.compile(r"auto|cpu|cuda|cuda:\d{1,3}(,\d{1,3})*")
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_FIRST_WITH_BFLOAT16 = (8, 0)


def resolve_devices(name: str) -> list[str]:
    """The devices of a name: "auto", "cpu", "cuda", "cuda:1", or "cuda:0,1" for two.

    "auto" becomes "cuda" if available, else "cpu". Raises ValueError if a device is missing.
    """
    if not _NAMES.fullmatch(name):
        raise ValueError(f"device must be auto, cpu, cuda, cuda:1 or cuda:0,1, got {name!r}")
    is_available = torch.cuda.is_available()
    if name == "auto":
        if not is_available and _NVIDIA_DRIVER.exists():
            _logger.warning(
                "an NVIDIA GPU is here, but torch %s cannot use it; device auto serves on the CPU",
                torch.__version__,
            )
        name = "cuda" if is_available else "cpu"
    if name != "cpu" and not is_available:
        raise ValueError(f"device {name!r} was asked for, but torch finds no usable CUDA GPU")
    kind, _, numbers = name.partition(":")
    devices = [f"{kind}:{int(number)}" for number in numbers.split(",")] if numbers else [kind]
    for device in devices:
        _require_usable(device)
    if len(set(devices)) < len(devices):
        raise ValueError(f"device {name!r} names a GPU twice")
    return devices


def resolve_device(name: str) -> str:
    """As `resolve_devices`, for exactly one device."""
    devices = resolve_devices(name)
    if len(devices) > 1:
        raise ValueError(f"one device is needed here, got {name!r}")
    return devices[0]


def _require_usable(device: str) -> None:
    """Raise ValueError if torch has no such GPU, or no code for it."""
    if device == "cpu":
        return
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
