"""Launches of Triton's kernels, noted instead of run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest import mock

import triton
from triton.runtime.interpreter import InterpretedFunction


class Launch(NamedTuple):
    """A kernel and what it was launched with."""

    kernel: Any
    arguments: tuple[Any, ...]
    constants: dict[str, Any]


@contextlib.contextmanager
def noted_launches() -> Iterator[list[Launch]]:
    """No kernel runs within; what they would write keeps whatever it holds."""
    launches: list[Launch] = []

    def note(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **constants: Any) -> None:
        launches.append(Launch(kernel, arguments, constants))

    with (
        mock.patch.object(triton.JITFunction, "run", note),
        mock.patch.object(InterpretedFunction, "run", note),
    ):
        yield launches
