"""Steps recorded as CUDA graphs: one launch instead of hundreds, and results read one step late.

A graph needs fixed memory and fixed shapes. So each recording has its own table, the numbers of
slots and rows and the lengths are rounded up, and the graph includes search and sampling. The
padding reads and writes free rows and slots only. The host reads the end of a sentence during the
next step; that step does not change an ended search (`Search.advance`).

A shape that cannot be recorded runs operation by operation from then on. On a CPU all shapes do,
for tests of the logic.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from model.backends.cuda_recording import RecordedStep, Recorder
from model.backends.recorded_shapes import RecordedShape, UsualSentences, usual_shapes
from model.decoding.network_interface import Capacity, Network, RowTable, StepShape
from model.decoding.search import Search
from model.decoding.slot_options import Features
from model.decoding.step import Outcome, Step
from model.device_lost import DeviceLost

_logger = logging.getLogger(__name__)
_MOST_GRAPHS = 1024
_MOST_REFUSED = 3
_LOG_SECONDS = 2.0


class GraphedStep(Step):
    """Runs a shape eagerly the first time, records it the second time, and then replays it."""

    lag = 1

    def __init__(
        self, network: Network, search: Search, capacity: Capacity, recorder: Recorder | None
    ) -> None:
        """`recorder`: None records nothing."""
        super().__init__(network, search)
        self._capacity, self._recorder = capacity, recorder
        self._device = search.length.device
        self._recordings: OrderedDict[RecordedShape, _Recording] = OrderedDict()
        self.num_refused = 0
        """Shapes that could not be recorded."""

    def run(self, table: RowTable, shape_of_step: StepShape, features: Features) -> Outcome:
        recording = self._recording_of_step(table, shape_of_step, features)
        return self._replay(recording).of_first(table.by_slot.size(0))

    def _recording_of_step(
        self, table: RowTable, shape_of_step: StepShape, features: Features
    ) -> _Recording:
        """The recording that serves a step, with its table."""
        shape = RecordedShape.of(table, shape_of_step, features, self._capacity)
        recording = self._recording_of(shape)
        recording.load(table)
        return recording

    @torch.inference_mode()
    def warm_up(self, usual: Sequence[UsualSentences]) -> None:
        """Record all shapes of batches of such sentences, while no slot is in use.

        Raises RuntimeError if none of the first ones can be recorded; stops if a later one cannot,
        as when the memory is full.
        """
        shapes = usual_shapes(self._capacity, usual)[:_MOST_GRAPHS]
        logged = started = time.monotonic()
        for count, shape in enumerate(shapes):
            recording = self._recording_of(shape)
            while not (recording.was_run and (recording.recorded or self._recorder is None)):
                self._replay(recording)
                if recording.is_refused:
                    break
            if recording.is_refused and self.num_recorded:
                return
            if self.num_refused >= _MOST_REFUSED:
                raise RuntimeError(f"{self.num_refused} of {count + 1} shapes were refused")
            if time.monotonic() - logged > _LOG_SECONDS:
                logged = time.monotonic()
                _logger.info("recorded %d of %d shapes of steps", count + 1, len(shapes))
        if self._recorder is not None:
            seconds = time.monotonic() - started
            _logger.info("recorded %d shapes of steps in %.1f s", len(shapes), seconds)

    @property
    def num_recorded(self) -> int:
        return sum(recording.recorded is not None for recording in self._recordings.values())

    def _recording_of(self, shape: RecordedShape) -> _Recording:
        recording = self._recordings.pop(shape, None) or _Recording(shape, self._device)
        self._recordings[shape] = recording
        if len(self._recordings) > _MOST_GRAPHS:
            self._recordings.popitem(last=False)
        return recording

    def _replay(self, recording: _Recording) -> Outcome:
        if recording.was_run and not recording.is_refused and recording.recorded is None:
            self._record(recording)
        if recording.recorded is not None:
            recording.recorded.replay()
            return recording.recorded.outcome
        recording.was_run = True
        return self._run_plainly(recording)

    def _record(self, recording: _Recording) -> None:
        """Record, or remember that this shape cannot be recorded."""
        if self._recorder is None:
            return
        try:
            recording.recorded = self._recorder.record(lambda: self._run_plainly(recording))
        except DeviceLost:
            raise
        except RuntimeError as error:
            recording.is_refused = True
            self.num_refused += 1
            _logger.warning(
                "a step of %d slots and %d rows cannot be recorded and is slower: %s",
                *(recording.shape.n_slots, recording.shape.n_rows),
                str(error).partition("\n")[0],
            )

    def _run_plainly(self, recording: _Recording) -> Outcome:
        shape = recording.shape
        return super().run(recording.table, shape.shape_of_step, shape.features)


class _Recording:
    """The table of a shape and, once recorded, its graph."""

    def __init__(self, shape: RecordedShape, device: torch.device) -> None:
        self.shape = shape
        self.was_run = False
        self.is_refused = False
        self.recorded: RecordedStep | None = None
        zeros = torch.zeros(shape.n_rows, dtype=torch.int64, device=device)
        self.table = RowTable(
            by_slot=zeros.new_zeros(shape.n_slots, shape.width),
            slots=zeros,
            beams=zeros.clone(),
            members=torch.arange(shape.n_slots, device=device),
            rows=torch.arange(shape.n_rows, device=device),
            drawn=zeros[: shape.n_drawn].clone(),
        )
        self._loaded: RowTable | None = None

    def load(self, table: RowTable) -> None:
        """Copy a table into the recording's table. Places beyond it keep old values, which is
        harmless, except that padding of `drawn` must name a row that samples."""
        if table is self._loaded:
            return
        self._loaded = table
        for name in ("by_slot", "slots", "beams", "drawn"):
            given: Tensor = getattr(table, name)
            getattr(self.table, name)[: len(given)] = given
        if len(table.drawn):
            self.table.drawn[len(table.drawn) :] = table.drawn[0]
