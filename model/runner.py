"""The interface between the network and its callers: admit sentences, step, release.

Callers pass and get plain Python; they see no tensors, device or precision.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from model.backends.cuda_device import make_device
from model.backends.cuda_graphs import GraphedStep
from model.backends.fast_paths import FastPath
from model.backends.native import PackedModel
from model.backends.recorded_shapes import UsualSentences
from model.backends.selection import Backend, make_step
from model.checkpoint import StoredModel
from model.decoding.alignment import Aligner, EndedSentence
from model.decoding.compact_slots import CompactSlotAllocator
from model.decoding.network_interface import BatchRows, Capacity, Precision, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.search import Status
from model.decoding.sentence import Finished, Hypothesis, SourceSentence, StepResult
from model.decoding.slot_allocator import (
    BatchView,
    FixedSlotAllocator,
    SlotAllocator,
)
from model.decoding.slot_options import BatchNeeds, Features
from model.decoding.step import Progress
from model.decoding.step_cost import StepCost
from model.decoding.transfer import Pending, Transfer
from model.network.attention_maps import AttentionHead, default_heads
from model.network.transformer import Transformer

_MAX_ENCODE_TOKENS = 8192
_WARM_UP_STEPS = 3


@dataclass
class _Running:
    """Host state of one running sentence."""

    source: SourceSentence
    features: Features
    limit: int
    first_step: int
    num_streamed: int = 0


class _StepBatch(NamedTuple):
    """The sentences of a step and values derived from them; reused until they change."""

    handles: list[int]
    members: BatchRows
    features: Features
    longest_source: int


class _PendingStep(NamedTuple):
    """The outcome of the `step`-th step for its sentences; the copy to the host is pending."""

    step: int
    handles: list[int]
    progress: Pending[Progress]


class _PendingResults(NamedTuple):
    """Ended sentences and their hypotheses; the copy to the host began after the `step`-th step."""

    step: int
    ended: list[tuple[int, Status]]
    hypotheses: Pending[list[list[Hypothesis]]]


class Runner:
    """Decodes up to `max_slots` sentences at once, with at most `max_rows` hypotheses in total."""

    def __init__(
        self,
        model: Transformer | StoredModel | PackedModel,
        control_ids: Sequence[int],
        *,
        max_slots: int,
        max_rows: int,
        max_source_tokens: int,
        max_target_tokens: int,
        max_beam_size: int = 16,
        precision: Precision = "float32",
        backend: Backend | None = None,
        byte_ids: Mapping[int, int] | None = None,
        alignment_heads: Sequence[AttentionHead] = (),
        fast_paths: Collection[FastPath] = (),
    ) -> None:
        """A model on disk is read once, weight by weight for the native backend; several runners
        can share a packed one. `backend`: None selects the best one of the device. `byte_ids`: maps
        each byte token to its byte; the search generates only valid UTF-8. `alignment_heads`: those
        whose mean attention aligns words; empty: `default_heads`. `fast_paths`: those to
        use (`model.backends.fast_paths`)."""
        config = model.config
        self.max_slots, self.max_rows = max_slots, max_rows
        self.max_source_tokens = min(max_source_tokens, config.max_positions)
        self.max_target_tokens = min(max_target_tokens, config.max_positions)
        self.max_beam_size = min(max_beam_size, max_rows)
        self._config = config
        self._device = model.device
        self.fast_paths = tuple(fast_paths)
        self._compute = make_device(model.device)
        capacity = Capacity(max_slots, max_rows, self.max_source_tokens, self.max_target_tokens)
        with self._compute.in_use():
            self._network, self._search, self._step = make_step(
                *(model, control_ids, capacity, self.max_beam_size, precision, backend),
                *(byte_ids or {}, fast_paths),
            )
        self._aligner = Aligner(
            self._network, self._search, alignment_heads or default_heads(config)
        )
        self._allocator: SlotAllocator = (
            FixedSlotAllocator() if self.can_step_subset else CompactSlotAllocator()
        )
        self._running: dict[int, _Running] = {}
        self._needs = BatchNeeds()
        self._leaving: set[int] = set()
        self._pending_steps: deque[_PendingStep] = deque()
        self._pending_results: deque[_PendingResults] = deque()
        self._handles = itertools.count()
        self._num_steps = 0
        self._full_batch: _StepBatch | None = None
        self.step_cost: StepCost | None = None
        """What a step costs, if it was measured (`model.step_timing`)."""
        self.refused_paths: Sequence[str] = ()
        """Fast paths that were switched off (`model.proving`)."""

    @property
    def is_recorded(self) -> bool:
        """Whether steps are recorded."""
        return isinstance(self._step, GraphedStep)

    @property
    def num_running(self) -> int:
        """Admitted sentences that no step has reported as finished yet."""
        return len(self._running) + len(self._leaving)

    @property
    def num_free_slots(self) -> int:
        return self.max_slots - self._allocator.num_slots

    @property
    def num_free_rows(self) -> int:
        return self.max_rows - self._allocator.num_rows

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        """Encode sentences, project their memory and start their searches -> handles.

        A sentence takes one slot and beam_size rows. Raises ValueError and admits no sentence if
        one is empty or too long, or if slots or rows run out; DeviceLost as every method.
        """
        with self._compute.in_use():
            return self._admit(sentences)

    def _admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        self._check_room(sentences)
        handles = [next(self._handles) for _ in sentences]
        for handle, sentence in zip(handles, sentences, strict=True):
            self._allocator.add(handle, sentence.options.beam_size)
            limit = sentence.target_limit(self.max_target_tokens)
            features = Features.of(sentence)
            self._running[handle] = _Running(sentence, features, limit, self._num_steps)
            self._needs.enter(features, len(sentence.ids))
        self._full_batch = None
        try:
            self._start(handles, sentences)
        except BaseException:
            self._evict(handles)
            raise
        return handles

    @property
    def can_step_subset(self) -> bool:
        """Whether a step of a subset costs less than a full step; false on a GPU."""
        return self._network.can_step_subset

    def share_cores(self, sharers: int) -> None:
        """Use 1 / `sharers` of the CPU cores, because that many runners compute at once, one
        thread each. A new runner uses all cores."""
        self._network.share_cores(sharers)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        """Extend the hypotheses of these sentences, or of all if None, by one token.

        Raises ValueError for a subset unless `can_step_subset`.
        """
        with self._compute.in_use():
            return self._take_step(handles)

    def _take_step(self, handles: Sequence[int] | None) -> StepResult:
        if self._running:
            self._compact()
            self._launch(self._batch_of(handles))
        streamed: dict[int, list[int]] = {}
        while self._pending_steps and self._is_due(self._pending_steps[0].step):
            streamed |= self._read(self._pending_steps.popleft())
        finished: list[Finished] = []
        while self._pending_results and self._is_due(self._pending_results[0].step):
            finished += self._collect_finished(self._pending_results.popleft())
        return StepResult(finished, streamed)

    def stream(self, handle: int) -> None:
        """Return the tokens of a running sentence as they settle, from its first one on. Does
        nothing if the sentence has ended."""
        if state := self._running.get(handle):
            self._needs.leave(state.features, len(state.source.ids))
            state.source = dataclasses.replace(state.source, is_streamed=True)
            state.features = Features.of(state.source)
            self._needs.enter(state.features, len(state.source.ids))
            self._full_batch = None

    def release(self, handle: int) -> None:
        """Abandon a running sentence. Raises KeyError if it is not running."""
        if handle in self._leaving:
            self._leaving.remove(handle)
            return
        with self._compute.in_use():
            self._evict([handle])

    def warm_up(self, options: Sequence[DecodingOptions], has_prefix: bool = False) -> None:
        """Run the first steps of every batch size. On a GPU they are slow, and no request should
        wait for them. The runner must be idle. `has_prefix`: translations begin with a tag."""
        with self._compute.in_use():
            self._network.warm_up()
        if not self._step.lag:
            return
        prefix = (self._config.eos_id,) if has_prefix else ()
        usual = [SourceSentence([self._config.eos_id], o, prefix=prefix) for o in options]
        for sentence in usual:
            handles = self.admit([sentence])
            for _ in range(_WARM_UP_STEPS):
                self.step()
            for handle in handles:
                if handle in self._running or handle in self._leaving:
                    self.release(handle)
        if isinstance(self._step, GraphedStep):
            kinds = [UsualSentences(s.options.beam_size, Features.of(s)) for s in usual]
            with self._compute.in_use():
                self._step.warm_up(kinds)

    def _check_room(self, sentences: Sequence[SourceSentence]) -> None:
        for sentence in sentences:
            if not 1 <= len(sentence.ids) <= self.max_source_tokens:
                raise ValueError(
                    f"a sentence must have 1 to {self.max_source_tokens} source tokens, "
                    f"got {len(sentence.ids)}"
                )
            if sentence.options.beam_size > self.max_beam_size:
                raise ValueError(
                    f"beam_size must be at most {self.max_beam_size}, "
                    f"got {sentence.options.beam_size}"
                )
            limit = sentence.target_limit(self.max_target_tokens)
            if len(sentence.prefix) >= limit:
                raise ValueError(
                    f"a target prefix must have less than {limit} tokens, "
                    f"got {len(sentence.prefix)}"
                )
            if sentence.terms and len(sentence.prefix) + sentence.num_term_tokens > limit:
                raise ValueError(
                    f"a target prefix and the terms must have at most {limit} tokens, "
                    f"got {len(sentence.prefix) + sentence.num_term_tokens}"
                )
        num_rows = sum(sentence.options.beam_size for sentence in sentences)
        if len(sentences) > self.num_free_slots or num_rows > self.num_free_rows:
            raise ValueError(
                f"no room for {len(sentences)} sentences with {num_rows} hypotheses: "
                f"{self.num_free_slots} slots and {self.num_free_rows} rows are free"
            )

    def _start(self, handles: Sequence[int], sentences: Sequence[SourceSentence]) -> None:
        """Encode sentences and start their searches; one copy takes all that they need to the
        device."""
        transfer = Transfer(self._device)
        slots = [self._allocator.slot(handle) for handle in handles]
        rows = [row for handle in handles for row in self._allocator.rows(handle)]
        self._network.clear(slots, rows, transfer)
        for batch in _by_length(list(zip(slots, sentences, strict=True))):
            sources = [sentence.ids for _, sentence in batch]
            self._network.encode([slot for slot, _ in batch], sources, transfer)
        limits = [self._running[handle].limit for handle in handles]
        self._search.admit(slots, sentences, limits, self._config.bos_id, transfer)
        transfer.run()

    def _batch_of(self, handles: Sequence[int] | None) -> _StepBatch:
        if handles is not None and len(handles) < len(self._running):
            return self._describe(list(handles))
        if self._full_batch is None:
            self._full_batch = self._describe(list(self._allocator.handles))
        return self._full_batch

    def _describe(self, handles: list[int]) -> _StepBatch:
        if len(handles) == len(self._running):
            features, longest_source = self._needs.of_all()
        else:
            running = [self._running[handle] for handle in handles]
            features = Features.union({state.features for state in running})
            longest_source = max(len(state.source.ids) for state in running)
        view = self._allocator.view(handles)
        drawn = self._drawn(view) if features.has_sampling else []
        return _StepBatch(handles, BatchRows(view, drawn, self._device), features, longest_source)

    def _drawn(self, view: BatchView) -> list[int]:
        """Places of the rows that sample their token."""
        sampling = [
            self._allocator.slot(handle)
            for handle, state in self._running.items()
            if state.features.has_sampling
        ]
        places: list[int] = np.isin(view.columns.slots, sampling).nonzero()[0].tolist()
        return places

    def _longest(self) -> int:
        """Upper bound on the tokens of a live hypothesis: the steps since the oldest sentence was
        admitted."""
        first = next(iter(self._running.values()), None)
        return min(self._num_steps - first.first_step, self.max_target_tokens) if first else 0

    def _launch(self, batch: _StepBatch) -> None:
        """Start a step. With a lag, the batch may include sentences whose end is not read yet."""
        length = min(self._longest() + 1, self.max_target_tokens)
        shape_of_step = StepShape(length, batch.longest_source)
        progress = self._step.take(batch.members, shape_of_step, batch.features)
        self._num_steps += 1
        self._pending_steps.append(_PendingStep(self._num_steps, batch.handles, progress))

    def _is_due(self, step: int) -> bool:
        """Whether to read the output of the `step`-th step now."""
        return step + self._step.lag <= self._num_steps or not self._running

    def _read(self, pending: _PendingStep) -> dict[int, list[int]]:
        """Evict ended sentences -> newly settled tokens of streamed sentences, by handle."""
        progress = pending.progress.wait()
        streamed = self._newly_settled(pending.handles, progress)
        ended = [
            (pending.handles[place], status)
            for place, status in progress.ended
            if pending.handles[place] in self._running
        ]
        if ended:
            handles = [handle for handle, _ in ended]
            self._pending_results.append(
                _PendingResults(self._num_steps, ended, self._results(handles))
            )
            self._evict(handles)
            self._leaving.update(handles)
        return streamed

    def _newly_settled(self, handles: list[int], progress: Progress) -> dict[int, list[int]]:
        streamed: dict[int, list[int]] = {}
        if progress.tokens is None:
            return streamed
        for place, (handle, length) in enumerate(zip(handles, progress.stable, strict=True)):
            state = self._running.get(handle)
            if state and state.source.is_streamed and length > state.num_streamed:
                streamed[handle] = progress.tokens[place, state.num_streamed : length].tolist()
                state.num_streamed = length
        return streamed

    def _results(self, handles: list[int]) -> Pending[list[list[Hypothesis]]]:
        slots = [self._allocator.slot(handle) for handle in handles]
        running = [self._running[handle] for handle in handles]
        limits = [state.limit for state in running]
        n_best = max(state.source.options.n_best for state in running)
        hypotheses = self._search.results(slots, limits, n_best)
        ended = list(self._aligned_among(handles))
        return self._aligner.aligned(hypotheses, ended) if ended else hypotheses

    def _aligned_among(self, handles: list[int]) -> Iterator[EndedSentence]:
        for place, handle in enumerate(handles):
            state = self._running[handle]
            if state.source.is_aligned:
                slot, row = self._allocator.slot(handle), self._allocator.first_row(handle)
                most = min(state.limit, self._num_steps - state.first_step)
                yield EndedSentence(place, slot, row, len(state.source.ids), most)

    def _compact(self) -> None:
        """Fill the places of sentences that left and that no new one has taken."""
        moves = self._allocator.compact()
        if moves.rows or moves.slots:
            self._network.move(moves)
        if moves.slots:
            self._search.move(moves.slots)

    def _evict(self, handles: Sequence[int]) -> None:
        self._allocator.remove(handles)
        for handle in handles:
            state = self._running.pop(handle)
            self._needs.leave(state.features, len(state.source.ids))
        self._full_batch = None

    def _collect_finished(self, pending: _PendingResults) -> Iterator[Finished]:
        """Ended sentences, except those released before their results arrived."""
        results = pending.hypotheses.wait()
        for (handle, status), hypotheses in zip(pending.ended, results, strict=True):
            if handle not in self._leaving:
                continue
            self._leaving.remove(handle)
            if status is Status.FAILED:
                yield Finished(handle, [], "the model gave no finite scores for this sentence")
            else:
                yield Finished(handle, hypotheses)


def _by_length(
    batch: list[tuple[int, SourceSentence]],
) -> Iterator[list[tuple[int, SourceSentence]]]:
    """Split into batches of similar length, to limit padding."""
    batch = sorted(batch, key=lambda item: len(item[1].ids))
    start = 0
    for end in range(1, len(batch) + 1):
        is_last = end == len(batch)
        if is_last or (end + 1 - start) * len(batch[end][1].ids) > _MAX_ENCODE_TOKENS:
            yield batch[start:end]
            start = end
