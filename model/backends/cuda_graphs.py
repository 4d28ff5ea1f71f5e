"""Steps recorded as CUDA graphs: one launch instead of hundreds, and results read one step late.

A graph needs fixed memory and fixed shapes. So each recording has its own table, the numbers of
slots and rows and the lengths are rounded up, and the graph includes search and sampling. The
padding reads and writes free rows and slots only. The host reads the end of a sentence during the
next step; that step does not change an ended search (`Search.advance`).

A shape that cannot be recorded runs operation by operation from then on. On a CPU all shapes do,
for tests of the logic.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch

from model.backends.cuda_recording import Recorder
from model.backends.recorded_shapes import RecordedShape, UsualSentences, usual_shapes
from model.backends.recorded_table import RecordedTable
from model.backends.recording import Recording, record_all
from model.decoding.network_interface import BatchRows, Capacity, Network, StepShape
from model.decoding.search import Search
from model.decoding.slot_options import Features
from model.decoding.step import Outcome, Step

_MOST_GRAPHS = 2048


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
        self._widths: Sequence[int] = ()
        self._recordings: OrderedDict[RecordedShape, _Recording] = OrderedDict()

    def outcome(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> Outcome:
        recording = self._recording_of_step(batch, shape_of_step, features)
        return self._replay(recording).of_first(len(batch.view.slots))

    def _recording_of_step(
        self, batch: BatchRows, shape_of_step: StepShape, features: Features
    ) -> _Recording:
        """The recording that serves a step, with its table."""
        shape = RecordedShape.of(batch, shape_of_step, features, self._capacity, self._widths)
        recording = self._recording_of(shape)
        recording.table.load(batch)
        return recording

    @torch.inference_mode()
    def warm_up(self, usual: Sequence[UsualSentences]) -> None:
        """Record all shapes of batches of such sentences, while no slot is in use.

        Raises RuntimeError if none of the first ones can be recorded.
        """
        self._widths = sorted({kind.beam_size for kind in usual})
        shapes = usual_shapes(self._capacity, usual)
        record_all(shapes[:_MOST_GRAPHS], self._prepared, "steps")

    @property
    def num_recorded(self) -> int:
        return sum(recording.recorded is not None for recording in self._recordings.values())

    @property
    def num_refused(self) -> int:
        """Shapes that could not be recorded."""
        return sum(recording.is_refused for recording in self._recordings.values())

    def _recording_of(self, shape: RecordedShape) -> _Recording:
        recording = self._recordings.pop(shape, None) or _Recording(shape, self._device)
        self._recordings[shape] = recording
        if len(self._recordings) > _MOST_GRAPHS:
            self._recordings.popitem(last=False)
        return recording

    def _prepared(self, shape: RecordedShape) -> _Recording:
        recording = self._recording_of(shape)
        while not recording.is_prepared(self._recorder):
            self._replay(recording)
        return recording

    def _replay(self, recording: _Recording) -> Outcome:
        return recording.run(lambda: self._run_plainly(recording), self._recorder)

    def _run_plainly(self, recording: _Recording) -> Outcome:
        shape = recording.shape
        return self.run(recording.table.table, shape.shape_of_step, shape.features)


class _Recording(Recording[Outcome]):
    """The table of a shape and, once recorded, its graph."""

    def __init__(self, shape: RecordedShape, device: torch.device) -> None:
        super().__init__(f"a step of {shape.n_slots} slots and {shape.n_rows} rows")
        self.shape = shape
        self.table = RecordedTable(shape, device)
