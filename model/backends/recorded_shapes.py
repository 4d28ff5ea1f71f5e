"""The shapes that steps are recorded in: sizes are rounded up, so that few recordings serve all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from model.decoding.network_interface import Capacity, RowTable, StepShape
from model.decoding.slot_options import Features

SHORTEST = 32
"""The least length of a history or a source, in tokens."""


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
        cls, table: RowTable, shape_of_step: StepShape, features: Features, capacity: Capacity
    ) -> RecordedShape:
        """The shape that serves a step."""
        n_slots, width = table.by_slot.shape
        target = rounded(max(shape_of_step.target, SHORTEST), capacity.max_target_tokens)
        source = rounded(max(shape_of_step.source, SHORTEST), capacity.max_source_tokens)
        return cls(
            n_slots=rounded(n_slots, capacity.max_slots),
            width=width,
            n_rows=rounded(len(table.rows), capacity.max_rows),
            n_drawn=rounded(len(table.drawn), capacity.max_rows),
            shape_of_step=StepShape(target, source),
            features=features,
        )


class UsualSentences(NamedTuple):
    """Sentences that a server expects: their beam, and what they need of a step."""

    beam_size: int
    features: Features


def usual_shapes(capacity: Capacity, usual: Sequence[UsualSentences]) -> list[RecordedShape]:
    """All shapes of batches of each kind of sentences, streamed or not; short histories first."""
    targets = _lengths(capacity.max_target_tokens)
    sources = _lengths(capacity.max_source_tokens)
    shapes = [
        RecordedShape(n_slots, kind.beam_size, n_rows, n_drawn, StepShape(target, source), features)
        for target, source in itertools.product(targets, sources)
        for kind in usual
        for features in (kind.features, kind.features._replace(has_streams=True))
        for n_slots, n_rows, n_drawn in _sizes(capacity, kind)
    ]
    return list(dict.fromkeys(shapes))


def rounded(count: int, most: int) -> int:
    """Round up to a power of two, at most `most`; 0 stays 0."""
    return min(1 << (count - 1).bit_length(), most) if count else 0


def _lengths(most: int) -> list[int]:
    return sorted({rounded(max(length, SHORTEST), most) for length in range(1, most + 1)})


def _sizes(capacity: Capacity, kind: UsualSentences) -> Iterator[tuple[int, int, int]]:
    """Slots, rows and sampling rows of batches of one sentence to as many as fit."""
    most = min(capacity.max_slots, capacity.max_rows // kind.beam_size)
    sizes: dict[tuple[int, int, int], None] = {}
    for count in range(1, most + 1):
        n_rows = rounded(count * kind.beam_size, capacity.max_rows)
        n_drawn = n_rows if kind.features.has_sampling else 0
        sizes[rounded(count, capacity.max_slots), n_rows, n_drawn] = None
    yield from sizes
