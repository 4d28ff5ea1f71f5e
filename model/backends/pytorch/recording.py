"""Work of a fixed shape: it runs operation by operation once, is recorded as a CUDA graph, and is
then replayed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch

from model.backends.device_lost import DeviceLost
from model.backends.pytorch.devices import ONE_RECORDING, require_alive

Result = TypeVar("Result")
Shape = TypeVar("Shape")
_logger = logging.getLogger(__name__)
_MOST_REFUSED = 3
_LOG_SECONDS = 2.0


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


class Recording(Generic[Result]):
    """Work that reads and writes the same memory each time. If it cannot be recorded, it runs
    operation by operation from then on."""

    def __init__(self, name: str) -> None:
        """`name`: what it is, for the log."""
        self.name = name
        self.was_run = False
        self.is_refused = False
        self.recorded: Recorded[Result] | None = None

    def run(self, work: Callable[[], Result], recorder: Recorder | None) -> Result:
        """Run, record or replay `work`, the same one each time. `recorder`: None records nothing.

        Raises DeviceLost."""
        if self.was_run and recorder is not None and not self.is_prepared(recorder):
            self._record(work, recorder)
        if self.recorded is not None:
            self.recorded.replay()
            return self.recorded.outcome
        self.was_run = True
        return work()

    def refuse(self, fault: str) -> None:
        """Run it operation by operation from now on, and say why."""
        self.is_refused, self.recorded = True, None
        _logger.warning("%s cannot be recorded and is slower: %s", self.name, fault)

    def is_prepared(self, recorder: Recorder | None) -> bool:
        """Whether running it once more would change nothing."""
        return self.was_run and (recorder is None or self.is_refused or self.recorded is not None)

    def _record(self, work: Callable[[], Result], recorder: Recorder) -> None:
        try:
            self.recorded = recorder.record(work)
        except DeviceLost:
            raise
        except RuntimeError as error:
            self.refuse(str(error).partition("\n")[0])


def record_all(
    shapes: Sequence[Shape], prepare: Callable[[Shape], Recording[Any]], what: str
) -> None:
    """Prepare the recordings of all shapes of `what`, with progress in the log.

    Raises RuntimeError if none of the first ones can be recorded; stops if a later one cannot, as
    when the memory is full.
    """
    num_recorded = num_refused = 0
    logged = started = time.monotonic()
    for count, shape in enumerate(shapes, start=1):
        recording = prepare(shape)
        num_recorded += recording.recorded is not None
        num_refused += recording.is_refused
        if recording.is_refused and num_recorded:
            return
        if num_refused >= _MOST_REFUSED:
            raise RuntimeError(f"{num_refused} of {count} shapes of {what} were refused")
        if time.monotonic() - logged > _LOG_SECONDS:
            logged = time.monotonic()
            _logger.info("recorded %d of %d shapes of %s", count, len(shapes), what)
    if num_recorded:
        seconds = time.monotonic() - started
        _logger.info("recorded %d shapes of %s in %.1f s", num_recorded, what, seconds)


def rounded(count: int, most: int) -> int:
    """Round up to a power of two, at most `most`; 0 stays 0."""
    return min(1 << (count - 1).bit_length(), most) if count else 0
