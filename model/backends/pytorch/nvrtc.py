"""Compile kernels.cu for the GPU that is here, with the compiler that comes with PyTorch's CUDA.

NVRTC and the driver are called through NVIDIA's cuda-bindings, which PyTorch's CUDA build brings.
No C compiler is needed.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from model.backends.pytorch.devices import ONE_RECORDING
from model.decoding.search_rules import LONGEST_LOOP, LOOP_SPAN

SOURCE = Path(__file__).with_name("kernels.cu")


class Grid(NamedTuple):
    """The blocks of a launch, in two dimensions, and the threads of each."""

    blocks: int
    parts: int
    threads: int


Argument = Tensor | int | None
Launch = Callable[[str, int, Grid, Sequence[Argument]], None]
"""Runs a kernel by its name and WIDTH. Each argument is eight bytes: the address of a tensor, null
for None, or a number."""


class CudaLauncher:
    """Launches kernels on the current stream of a GPU. The first launch of a width compiles it,
    which takes about a second."""

    def __init__(self, device: torch.device, widest: int) -> None:
        """Compile the widest kernels, for which no request is to wait. Raises RuntimeError or
        ImportError if kernels cannot be compiled here."""
        self._device = device
        _function(device, "advance", widest)

    def __call__(self, name: str, width: int, grid: Grid, arguments: Sequence[Argument]) -> None:
        function = _function(self._device, name, width)
        stream = torch.cuda.current_stream(self._device).cuda_stream
        values = tuple(map(address, arguments))
        types = (ctypes.c_void_p,) * len(values)
        blocks = (grid.blocks, grid.parts, 1, grid.threads, 1, 1)
        _checked(
            _bindings().driver.cuLaunchKernel(function, *blocks, 0, stream, (values, types), 0)
        )


def address(argument: Argument) -> int:
    """The eight bytes that a kernel gets for an argument, as a number."""
    if isinstance(argument, Tensor):
        return argument.data_ptr()
    return argument or 0


def constants(width: int) -> list[str]:
    """Compiler options that define the constants of kernels.cu."""
    return [f"-DWIDTH={width}", f"-DLOOP_SPAN={LOOP_SPAN}", f"-DLONGEST_LOOP={LONGEST_LOOP}"]


@functools.cache
def _function(device: torch.device, name: str, width: int) -> Any:
    module = _module(device, width)
    return _checked(_bindings().driver.cuModuleGetFunction(module, name.encode()))


@functools.cache
def _module(device: torch.device, width: int) -> Any:
    major, minor = torch.cuda.get_device_capability(device)
    with ONE_RECORDING, torch.cuda.device(device):
        torch.cuda.synchronize()  # the device's context is current from here on
        code = _compiled(10 * major + minor, width)
        return _checked(_bindings().driver.cuModuleLoadData(code))


@functools.cache
def _compiled(architecture: int, width: int) -> bytes:
    """The machine code of all kernels."""
    nvrtc = _bindings().nvrtc
    program = _checked(nvrtc.nvrtcCreateProgram(SOURCE.read_bytes(), b"kernels.cu", 0, [], []))
    options = [f"--gpu-architecture=sm_{architecture}", "--std=c++17", *constants(width)]
    outcome = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    if outcome[0]:
        log = bytes(_checked(nvrtc.nvrtcGetProgramLogSize(program)))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"kernels.cu cannot be compiled: {log.decode(errors='replace')}")
    code = bytes(_checked(nvrtc.nvrtcGetCUBINSize(program)))
    _checked(nvrtc.nvrtcGetCUBIN(program, code))
    return code


@functools.cache
def _bindings() -> Any:
    """The package cuda.bindings, where PyTorch is built for CUDA."""
    import cuda.bindings.driver
    import cuda.bindings.nvrtc

    return cuda.bindings


def _checked(outcome: Sequence[Any]) -> Any:
    """The value of a call. Raises RuntimeError if it failed."""
    error, *values = outcome
    if error:
        raise RuntimeError(f"CUDA: {error.name}")
    return values[0] if values else None
