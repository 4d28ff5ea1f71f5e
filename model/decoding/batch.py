"""The sentences that run: what each needs, where it lies, and who takes part in a step.

Host bookkeeping. The views that a step needs are kept until the batch changes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from model.decoding.compact_slots import CompactSlotAllocator
from model.decoding.decoder import BatchRows, StepShape
from model.decoding.sentence import SourceSentence
from model.decoding.slot_allocator import (
    BatchView,
    Compaction,
    FixedSlotAllocator,
    SlotAllocator,
)
from model.decoding.slot_options import BatchNeeds, Features


@dataclass
class RunningSentence:
    """A running sentence: its features, the most tokens of its translation, the steps taken before
    it was admitted, and how many of its tokens were streamed."""

    source: SourceSentence
    features: Features
    limit: int
    first_step: int
    num_streamed: int = 0


class StepBatch(NamedTuple):
    """The sentences of a step and values derived from them; reused until they change. `handles`: -1
    for a place that no sentence has."""

    handles: list[int]
    members: BatchRows
    features: Features
    longest_source: int


class RunningBatch:
    """Running sentences by handle, with their slots and rows."""

    def __init__(
        self, max_target_tokens: int, *, can_step_subset: bool, is_padded: bool = False
    ) -> None:
        """`is_padded`: as of `CompactSlotAllocator`."""
        self.num_steps = 0
        """Steps taken so far."""
        self._max_target_tokens = max_target_tokens
        self._slots: SlotAllocator = (
            FixedSlotAllocator() if can_step_subset else CompactSlotAllocator(is_padded=is_padded)
        )
        self._running: dict[int, RunningSentence] = {}
        self._needs = BatchNeeds()
        self._handles = itertools.count()
        self._all: StepBatch | None = None

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, handle: int) -> bool:
        return handle in self._running

    def __iter__(self) -> Iterator[int]:
        """Handles, oldest first."""
        return iter(self._running)

    def __getitem__(self, handle: int) -> RunningSentence:
        """Raises KeyError."""
        return self._running[handle]

    @property
    def num_slots(self) -> int:
        return self._slots.num_slots

    @property
    def num_rows(self) -> int:
        return self._slots.num_rows

    def slot(self, handle: int) -> int:
        """The slot of a sentence. Raises KeyError if it is not running."""
        return self._slots.slot(handle)

    def first_row(self, handle: int) -> int:
        """The row of a sentence's first beam."""
        return self._slots.first_row(handle)

    def rows(self, handle: int) -> list[int]:
        """The rows of a sentence."""
        return self._slots.rows(handle)

    def add(self, sentences: Sequence[SourceSentence], limits: Sequence[int]) -> list[int]:
        """Give sentences a slot and rows -> their handles. `limits`: the most tokens of each
        translation."""
        handles = [next(self._handles) for _ in sentences]
        for handle, sentence, limit in zip(handles, sentences, limits, strict=True):
            self._slots.add(handle, sentence.options.beam_size)
            features = Features.of(sentence)
            self._running[handle] = RunningSentence(sentence, features, limit, self.num_steps)
            self._needs.enter(features, len(sentence.ids))
        self._all = None
        return handles

    def remove(self, handles: Sequence[int]) -> None:
        """Free slots and rows of sentences. Raises KeyError if one is not running."""
        self._slots.remove(handles)
        for handle in handles:
            state = self._running.pop(handle)
            self._needs.leave(state.features, len(state.source.ids))
        self._all = None

    def stream(self, handle: int) -> None:
        """Stream a sentence from its first token on. Does nothing if it is not running."""
        if state := self._running.get(handle):
            self._needs.leave(state.features, len(state.source.ids))
            state.source = dataclasses.replace(state.source, is_streamed=True)
            state.features = Features.of(state.source)
            self._needs.enter(state.features, len(state.source.ids))
            self._all = None

    def streamed_among(self, handles: Sequence[int]) -> list[tuple[int, RunningSentence]]:
        """Those of these sentences that run and are streamed, each with its place among them."""
        running = enumerate(map(self._running.get, handles))
        return [(place, state) for place, state in running if state and state.features.has_streams]

    def compact(self) -> Compaction:
        """Prepare a step -> the copies that it needs first."""
        return self._slots.compact()

    def of_step(self, handles: Sequence[int] | None) -> StepBatch:
        """The batch of a step of these sentences, or of all if None."""
        if handles is not None and len(handles) < len(self._running):
            return self._describe(list(handles))
        if self._all is None:
            self._all = self._describe(list(self._slots.handles))
        return self._all

    def shape_of(self, batch: StepBatch) -> StepShape:
        """Upper bounds on what the next step of a batch reads: no history has more tokens than the
        steps since the oldest sentence was admitted."""
        oldest = next(iter(self._running.values()))
        length = min(self.num_steps - oldest.first_step + 1, self._max_target_tokens)
        return StepShape(length, batch.longest_source)

    def _describe(self, handles: list[int]) -> StepBatch:
        if len(handles) >= len(self._running):
            features, longest_source = self._needs.of_all()
        else:
            running = [self._running[handle] for handle in handles]
            features = Features.union({state.features for state in running})
            longest_source = max(len(state.source.ids) for state in running)
        view = self._slots.view(handles)
        drawn = self._drawn(view) if features.has_sampling else []
        return StepBatch(handles, BatchRows(view, drawn), features, longest_source)

    def _drawn(self, view: BatchView) -> list[int]:
        """Places of the rows that sample their token."""
        sampling = [
            self._slots.slot(handle)
            for handle, state in self._running.items()
            if state.features.has_sampling
        ]
        places: list[int] = np.isin(view.columns.slots, sampling).nonzero()[0].tolist()
        return places
