"""Steps recorded as CUDA graphs: one launch instead of dozens, and results read one step late.

A graph needs fixed memory and fixed shapes. So each recording has its own table, the numbers of
slots and rows and the lengths are rounded up, and the graph includes search and sampling. The
padding reads and writes free rows and slots only. The host reads the end of a sentence during the
next step; that step does not change an ended search (`Search.advance`).

A shape that cannot be recorded runs operation by operation from then on. On a CPU all shapes do,
for tests of the logic.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.kernels import SearchKernels
from model.backends.pytorch.recording import Recorder, Recording, record_all, rounded
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.search import Search
from model.backends.pytorch.step import Outcome, Step
from model.backends.pytorch.transfer import overwrite
from model.decoding.decoder import BatchRows, Capacity, StepShape
from model.decoding.slot_options import Features

_MOST_GRAPHS = 2048
SHORTEST = 32
"""The least length of a history or a source, in tokens."""


class GraphedStep(Step):
    """Runs a shape eagerly the first time, records it the second time, and then replays it."""

    lag = 1

    def __init__(
        self,
        network: EagerNetwork,
        search: Search,
        capacity: Capacity,
        recorder: Recorder | None,
        kernels: SearchKernels | None = None,
    ) -> None:
        """`recorder`: None records nothing. `kernels`: None: the search is PyTorch operations."""
        super().__init__(network, search)
        self._kernels = kernels
        self._capacity, self._recorder = capacity, recorder
        self._device = search.length.device
        self._widths: Sequence[int] = ()
        self._recordings: OrderedDict[RecordedShape, _Recording] = OrderedDict()

    def outcome(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> Outcome:
        recording = self._recording_of_step(batch, shape_of_step, features)
        return self._replay(recording).of_first(len(batch.view.slots))

    def extend(self, table: RowTable, shape_of_step: StepShape, features: Features) -> None:
        kernels, search = self._kernels, self._search
        if kernels is None or not kernels.fit(table):
            super().extend(table, shape_of_step, features)
            return
        length = shape_of_step.target
        self._network.step(*search.frontier(table), table, shape_of_step)
        logits = self._network.logits()
        if features.has_sampling:
            candidates = search.choose(logits, table, length, features)
        else:
            logits = search.guard(logits, table, length - 1, features)
            candidates = kernels.rank(logits, table)
        parents = kernels.advance(candidates, table)
        if table.by_slot.size(1) > 1:
            kernels.reorder(parents, table)

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


class RecordedShape(NamedTuple):
    """The key of a recorded step: everything it depends on except values in device memory."""

    n_slots: int
    width: int
    n_rows: int
    n_drawn: int
    shape_of_step: StepShape
    features: Features

    @classmethod
    def of(
        cls,
        batch: BatchRows,
        shape_of_step: StepShape,
        features: Features,
        capacity: Capacity,
        widths: Sequence[int] = (),
    ) -> RecordedShape:
        """The shape that serves a step. Beams are padded to the next of the usual `widths`."""
        n_slots, own_width = batch.columns.by_slot.shape
        width = min((width for width in widths if width >= own_width), default=own_width)
        target = rounded(max(shape_of_step.target, SHORTEST), capacity.max_target_tokens)
        source = rounded(max(shape_of_step.source, SHORTEST), capacity.max_source_tokens)
        return cls(
            n_slots=rounded(n_slots, capacity.max_slots),
            width=width,
            n_rows=rounded(len(batch.columns.slots), capacity.max_rows),
            n_drawn=rounded(len(batch.drawn), capacity.max_rows),
            shape_of_step=StepShape(target, source),
            features=features,
        )


class UsualSentences(NamedTuple):
    """Sentences that a server expects: their beam, and what they need of a step. With
    `features.has_streams` they may be streamed or not."""

    beam_size: int
    features: Features


def usual_shapes(capacity: Capacity, usual: Sequence[UsualSentences]) -> list[RecordedShape]:
    """All shapes of batches of such sentences, also mixed with each other and with any narrower
    beams; short histories first."""
    targets = _lengths(capacity.max_target_tokens)
    sources = _lengths(capacity.max_source_tokens)
    shapes = [
        RecordedShape(n_slots, kind.beam_size, n_rows, n_drawn, StepShape(target, source), features)
        for target, source in itertools.product(targets, sources)
        for kind in _mixed(usual)
        for features in (kind.features._replace(has_streams=False), kind.features)
        for n_slots, n_rows, n_drawn in _sizes(capacity, kind)
    ]
    return list(dict.fromkeys(shapes))


def _lengths(most: int) -> list[int]:
    return sorted({rounded(max(length, SHORTEST), most) for length in range(1, most + 1)})


def _mixed(usual: Sequence[UsualSentences]) -> list[UsualSentences]:
    """Each kind alone, and each mixed with all kinds of the same or a narrower beam, of which none
    is streamed where the kind is not."""
    kinds = list(usual)
    for kind in usual:
        narrower = [other.features for other in usual if other.beam_size <= kind.beam_size]
        union = Features.union(narrower)._replace(has_streams=kind.features.has_streams)
        kinds.append(UsualSentences(kind.beam_size, union))
    return list(dict.fromkeys(kinds))


def _sizes(capacity: Capacity, kind: UsualSentences) -> Iterator[tuple[int, int, int]]:
    """The slots, rows and sampling rows of all batches that fit and have a sentence with the beam
    of this kind. All rows sample, or none."""
    width = kind.beam_size
    fewest = 1
    for n_slots in _rounded_range(
        1, min(capacity.max_slots, capacity.max_rows), capacity.max_slots
    ):
        least = fewest + (width > 1)
        most = min(n_slots * width, capacity.max_rows)
        for n_rows in _rounded_range(least, most, capacity.max_rows):
            yield n_slots, n_rows, n_rows if kind.features.has_sampling else 0
        fewest = n_slots + 1


def _rounded_range(least: int, most: int, limit: int) -> Iterator[int]:
    """The sizes that the numbers from `least` to `most` are rounded up to."""
    while least <= most:
        size = rounded(least, limit)
        yield size
        least = size + 1


class RecordedTable:
    """A `RowTable` of a recorded shape; its memory stays where it is.

    Places beyond those of a batch name the first row of the first slot, which is harmless: what
    they read is not used, and they write to rows and slots that are free.
    """

    def __init__(self, shape: RecordedShape, device: torch.device) -> None:
        self._shape = shape
        parts = (shape.n_slots * shape.width, shape.n_rows, shape.n_rows, shape.n_drawn)
        *self._starts, self._size = itertools.accumulate(parts, initial=0)
        self._memory = torch.zeros(self._size, dtype=torch.int64, device=device)
        by_slot, slots, beams, drawn = (
            self._memory[start : start + size]
            for start, size in zip(self._starts, parts, strict=True)
        )
        self.table = RowTable(
            by_slot=by_slot.view(shape.n_slots, shape.width),
            slots=slots,
            beams=beams,
            members=torch.arange(shape.n_slots, device=device),
            rows=torch.arange(shape.n_rows, device=device),
            drawn=drawn,
        )
        self._loaded: BatchRows | None = None

    def load(self, batch: BatchRows) -> None:
        """Fill the table with that of a batch, unless it is there already."""
        if batch is self._loaded:
            return
        self._loaded = batch
        columns, drawn = batch.columns, batch.drawn
        numbers = np.zeros(self._size, dtype=np.int64)
        n_slots, width = columns.by_slot.shape
        by_slot = numbers[: self._shape.n_slots * self._shape.width]
        by_slot = by_slot.reshape(self._shape.n_slots, self._shape.width)
        by_slot[:n_slots, :width] = columns.by_slot
        by_slot[:n_slots, width:] = columns.by_slot[:, :1]
        for start, column in zip(self._starts[1:3], (columns.slots, columns.beams), strict=True):
            numbers[start : start + column.size] = column
        if drawn:  # padding must name a row that samples
            start = self._starts[-1]
            numbers[start : start + self._shape.n_drawn] = drawn[0]
            numbers[start : start + len(drawn)] = drawn
        overwrite(self._memory, numbers)
