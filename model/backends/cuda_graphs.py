"""Steps recorded as CUDA graphs: one launch instead of hundreds, and results read one step late.

A graph needs fixed memory and fixed shapes. So each recording has its own table, the numbers of
slots and rows and the lengths are rounded up, and the graph includes search and sampling. The
padding reads and writes free rows and slots only. The host reads the end of a sentence during the
next step; that step does not change an ended search (`Search.advance`).

On a CPU the same steps run without recording, for tests of the logic.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import torch
from torch import Tensor

from model.decoding.network_interface import Capacity, Network, RowTable, StepShape
from model.decoding.search import Search
from model.decoding.slot_options import Features
from model.decoding.step import Outcome, Step

_SHORTEST = 32
_MOST_GRAPHS = 256


class _Shape(NamedTuple):
    """The key of a recorded step: everything it depends on except values in device memory."""

    n_slots: int
    width: int
    n_rows: int
    n_drawn: int
    shape_of_step: StepShape
    features: Features


class GraphedStep(Step):
    """Runs a shape eagerly the first time, records it the second time, and then replays it."""

    lag = 1

    def __init__(self, network: Network, search: Search, capacity: Capacity) -> None:
        super().__init__(network, search)
        self._capacity = capacity
        self._device = search.length.device
        self._recordings: OrderedDict[_Shape, _Recording] = OrderedDict()
        self._pool = torch.cuda.graph_pool_handle() if self._device.type == "cuda" else None

    def run(self, table: RowTable, shape_of_step: StepShape, features: Features) -> Outcome:
        shape = self._shape(table, shape_of_step, features)
        recording = self._recordings.pop(shape, None) or _Recording(shape, self._device)
        self._recordings[shape] = recording
        if len(self._recordings) > _MOST_GRAPHS:
            self._recordings.popitem(last=False)
        recording.load(table)
        return self._replay(recording).of_first(table.by_slot.size(0))

    def _replay(self, recording: _Recording) -> Outcome:
        shape = recording.shape
        if recording.graph is not None and recording.outcome is not None:
            recording.graph.replay()
            return recording.outcome
        if self._pool is None or not recording.was_run:
            recording.was_run = True
            return super().run(recording.table, shape.shape_of_step, shape.features)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            recording.outcome = super().run(recording.table, shape.shape_of_step, shape.features)
        recording.graph = graph
        return self._replay(recording)

    def _shape(self, table: RowTable, shape_of_step: StepShape, features: Features) -> _Shape:
        n_slots, width = table.by_slot.shape
        target = _rounded(max(shape_of_step.target, _SHORTEST), self._capacity.max_target_tokens)
        source = _rounded(max(shape_of_step.source, _SHORTEST), self._capacity.max_source_tokens)
        return _Shape(
            n_slots=_rounded(n_slots, self._capacity.max_slots),
            width=width,
            n_rows=_rounded(len(table.rows), self._capacity.max_rows),
            n_drawn=_rounded(len(table.drawn), self._capacity.max_rows),
            shape_of_step=StepShape(target, source),
            features=features,
        )


class _Recording:
    """The table of a shape and, once recorded, its graph and output tensors."""

    def __init__(self, shape: _Shape, device: torch.device) -> None:
        self.shape = shape
        self.was_run = False
        self.graph: torch.cuda.CUDAGraph | None = None
        self.outcome: Outcome | None = None
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


def _rounded(count: int, most: int) -> int:
    """Round up to a power of two, at most `most`; 0 stays 0."""
    return min(1 << (count - 1).bit_length(), most) if count else 0
