"""Record operations as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

import torch

from model.backends.cuda_device import ONE_RECORDING, require_alive

Result = TypeVar("Result")


class Recorded(NamedTuple, Generic[Result]):
    """Recorded work: `replay` runs it again on the same memory, and writes `outcome`."""

    replay: Callable[[], None]
    outcome: Result


class Recorder(Protocol):
    """Records steps and encodings."""

    def record(self, run: Callable[[], Result]) -> Recorded[Result]:
        """Record the operations of `run` without executing them.

        Raises RuntimeError if they cannot be recorded, DeviceLost if the device is broken."""
        ...


class CudaRecorder:
    """Records on a stream of its own. All its graphs share one pool of memory."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._renew()

    def record(self, run: Callable[[], Result]) -> Recorded[Result]:
        """A failed recording leaves the caller's stream current. It may leave the recording's
        stream unusable, so later ones get a new stream and pool."""
        graph = torch.cuda.CUDAGraph()
        before = torch.cuda.current_stream(self._device)
        with ONE_RECORDING:
            try:
                with torch.cuda.graph(
                    graph,
                    pool=self._pool,
                    stream=self._stream,
                    capture_error_mode="thread_local",
                ):
                    outcome = run()
            except RuntimeError as error:
                torch.cuda.set_stream(before)
                require_alive(self._device, error)
                self._renew()
                raise
        return Recorded(graph.replay, outcome)

    def _renew(self) -> None:
        self._stream = torch.cuda.Stream(self._device)
        self._pool = torch.cuda.graph_pool_handle()
