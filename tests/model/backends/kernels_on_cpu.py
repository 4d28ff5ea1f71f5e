"""Launches kernels.cu on the CPU, compiled by the C++ compiler of the tests."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from model.backends.pytorch.nvrtc import Argument, Grid, address, constants

_SOURCE = Path(__file__).with_suffix(".cpp")


class CpuLauncher:
    """As `CudaLauncher`, with so many threads in each block at most."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self.names: set[str] = set()
        """Of all kernels that ran."""

    def __call__(self, name: str, width: int, grid: Grid, arguments: Sequence[Argument]) -> None:
        self.names.add(name)
        numbers = (ctypes.c_int64 * len(arguments))(*map(address, arguments))
        launch = getattr(_library(width), f"launch_{name}")
        launch(grid.blocks, grid.parts, min(grid.threads, self._threads), numbers)


@functools.cache
def _library(width: int) -> ctypes.CDLL:
    directory = Path(tempfile.mkdtemp())
    target = directory / f"kernels_{width}.so"
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", "-Wno-unknown-pragmas"]
    flags += ["-Wl,-Bsymbolic"]  # the C library has an `advance` too
    flags += os.environ.get("KERNEL_FLAGS", "").split()  # of `make native-check`: a sanitizer
    command = ["g++", *flags, *constants(width), str(_SOURCE), "-o", str(target)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))
