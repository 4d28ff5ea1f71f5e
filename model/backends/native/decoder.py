"""`model.decoding.decoder.Decoder` in our C++ for CPUs: a step is one call, which knows all
options."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from model.backends.native.network import CompiledPart, DecodeRecord, NativeNetwork
from model.backends.native.packed import PackedModel
from model.backends.native.search import NativeSearch
from model.decoding.decoder import (
    BatchRows,
    Capacity,
    EndedSentence,
    Progress,
    Ranked,
    Ready,
    StepRecord,
    StepShape,
    WholeHypotheses,
)
from model.decoding.search_rules import SearchSizes, SearchTokens, Status
from model.decoding.sentence import SourceSentence
from model.decoding.slot_allocator import Compaction
from model.decoding.slot_options import Features
from model.decoding.utf8 import Utf8Tables
from model.network.config import AttentionHead

_USE = contextlib.nullcontext()


class NativeDecoder:
    """A packed model, its caches, and the searches."""

    can_step_subset = True
    lag = 0
    is_recorded = False

    def __init__(
        self,
        packed: PackedModel,
        capacity: Capacity,
        sizes: SearchSizes,
        tokens: SearchTokens,
        utf8: Utf8Tables | None,
        heads: Sequence[AttentionHead],
    ) -> None:
        """Raises MemoryError if the caches do not fit, OSError if threads cannot start."""
        self._config, self._heads = packed.config, heads
        self._network = NativeNetwork(packed, capacity)
        self._search = NativeSearch(sizes, tokens, utf8)
        self._members: BatchRows | None = None
        self._part: CompiledPart | None = None

    def in_use(self) -> AbstractContextManager[object]:
        return _USE

    def share_cores(self, sharers: int) -> None:
        self._network.share_cores(sharers)

    def warm_up(self) -> None:
        """Do nothing: no step is slow the first time."""

    def record(self, usual: Sequence[SourceSentence]) -> None:
        """Do nothing, likewise."""

    def admit(
        self,
        slots: Sequence[int],
        rows: Sequence[Sequence[int]],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
    ) -> None:
        self._network.encode(slots, [sentence.ids for sentence in sentences])
        self._search.admit(slots, sentences, limits, self._config.bos_id)

    def take_step(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Ready[Progress]:
        search, part = self._search, self._compiled_part(members)
        num_ended = self._network.decode(search.state, part, shape_of_step.target)
        ended = search.ended(part.slots) if num_ended else []
        if not features.has_streams:
            return Ready(Progress(ended))
        return Ready(Progress(ended, *search.settled(part.slots, shape_of_step.target)))

    def traced(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> StepRecord:
        search, part = self._search, self._compiled_part(members)
        record = DecodeRecord(part.num_rows, self._network.num_offered(part))
        live = search.live.score[0, : part.width]
        scores, is_forbidden = live.copy(), search.forbidden(0, part.width)
        self._network.decode(search.state, part, shape_of_step.target, record)
        return StepRecord(
            *(self._network.logits(), is_forbidden, record.log_probs, record.tokens, scores),
            *(record.sources, search.last[0, : part.width], live),
        )

    def status(self, slot: int) -> Status:
        return Status(int(self._search.status[slot]))

    def results(self, slots: Sequence[int], limits: Sequence[int], n_best: int) -> Ready[Ranked]:
        return Ready(self._search.results(slots, limits))

    def attention(self, ended: Sequence[EndedSentence]) -> Ready[NDArray[np.float32]]:
        slots = [sentence.slot for sentence in ended]
        best = self._search.best(slots, max(sentence.most_target_tokens for sentence in ended))
        rows = [sentence.row for sentence in ended]
        longest = max(sentence.num_source_tokens for sentence in ended)
        whole = WholeHypotheses(slots, rows, *best, longest_source=longest)
        return Ready(self._network.attention(whole, self._heads))

    def move(self, moves: Compaction) -> None:
        """Do nothing: `FixedSlotAllocator` needs no compaction."""

    def _compiled_part(self, members: BatchRows) -> CompiledPart:
        """Reuse the last step's view if the members are the same."""
        if self._part is None or self._members is not members:
            self._members, self._part = members, CompiledPart(members.view)
        return self._part
