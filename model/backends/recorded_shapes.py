"""The shapes that steps are recorded in: sizes are rounded up, so that few recordings serve all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from model.decoding.network_interface import BatchRows, Capacity, StepShape
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
    """Sentences that a server expects: their beam, and what they need of a step."""

    beam_size: int
    features: Features


def usual_shapes(capacity: Capacity, usual: Sequence[UsualSentences]) -> list[RecordedShape]:
    """All shapes of batches of such sentences, also mixed with each other and with any narrower
    beams, streamed or not; short histories first."""
    targets = _lengths(capacity.max_target_tokens)
    sources = _lengths(capacity.max_source_tokens)
    shapes = [
        RecordedShape(n_slots, kind.beam_size, n_rows, n_drawn, StepShape(target, source), features)
        for target, source in itertools.product(targets, sources)
        for kind in _mixed(usual)
        for features in (kind.features, kind.features._replace(has_streams=True))
        for n_slots, n_rows, n_drawn in _sizes(capacity, kind)
    ]
    return list(dict.fromkeys(shapes))


def rounded(count: int, most: int) -> int:
    """Round up to a power of two, at most `most`; 0 stays 0."""
    return min(1 << (count - 1).bit_length(), most) if count else 0


def _lengths(most: int) -> list[int]:
    return sorted({rounded(max(length, SHORTEST), most) for length in range(1, most + 1)})


def _mixed(usual: Sequence[UsualSentences]) -> list[UsualSentences]:
    """Each kind, and each together with all that are not wider."""
    kinds = list(usual)
    for kind in usual:
        narrower = [other.features for other in usual if other.beam_size <= kind.beam_size]
        kinds.append(UsualSentences(kind.beam_size, Features.union(narrower)))
    return list(dict.fromkeys(kinds))


def _sizes(capacity: Capacity, kind: UsualSentences) -> Iterator[tuple[int, int, int]]:
    """Slots, rows and sampling rows of batches of one sentence to as many as fit, of which one at
    least is as wide as the kind. All rows sample, or none."""
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
    """What the numbers from `least` to `most` are rounded to."""
    while least <= most:
        size = rounded(least, limit)
        yield size
        least = size + 1
