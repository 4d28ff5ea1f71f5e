"""Outcomes of steps on their way to the host, and what the runner answers of them.

On a GPU the host reads an outcome one step late, and the results of ended sentences one more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from model.decoding.aligned_hypotheses import AlignedHypotheses
from model.decoding.batch import RunningBatch, StepBatch
from model.decoding.decoder import Decoder, EndedSentence, Pending, Progress, Ranked
from model.decoding.search_rules import Status
from model.decoding.sentence import Finished, StepResult


class _PendingStep(NamedTuple):
    """The outcome of the `step`-th step for its sentences; the copy to the host is pending."""

    step: int
    handles: list[int]
    progress: Pending[Progress]


class _PendingResults(NamedTuple):
    """Ended sentences and their hypotheses; the copy to the host began after the `step`-th step."""

    step: int
    ended: list[tuple[int, Status]]
    hypotheses: Pending[Ranked]


class ResultReader:
    """Reads the outcomes of steps `lag` steps later, and removes sentences that ended."""

    def __init__(self, batch: RunningBatch, decoder: Decoder) -> None:
        self._batch, self._decoder = batch, decoder
        self._steps: deque[_PendingStep] = deque()
        self._results: deque[_PendingResults] = deque()
        self._leaving: set[int] = set()

    @property
    def num_leaving(self) -> int:
        """Ended sentences that no step has reported yet."""
        return len(self._leaving)

    def forget(self, handle: int) -> bool:
        """Whether this sentence had ended and was not reported; it will not be."""
        is_leaving = handle in self._leaving
        self._leaving.discard(handle)
        return is_leaving

    def add(self, batch: StepBatch, progress: Pending[Progress]) -> None:
        """Expect the outcome of the step that was just taken."""
        self._steps.append(_PendingStep(self._batch.num_steps, batch.handles, progress))

    def read(self) -> StepResult:
        """What is due now."""
        streamed: dict[int, list[int]] = {}
        while self._steps and self._is_due(self._steps[0].step):
            streamed |= self._read(self._steps.popleft())
        finished: list[Finished] = []
        while self._results and self._is_due(self._results[0].step):
            finished += self._finished(self._results.popleft())
        return StepResult(finished, streamed)

    def _is_due(self, step: int) -> bool:
        """Whether to read the output of the `step`-th step now."""
        return step + self._decoder.lag <= self._batch.num_steps or not self._batch

    def _read(self, pending: _PendingStep) -> dict[int, list[int]]:
        """Remove ended sentences -> newly settled tokens of streamed sentences, by handle."""
        progress = pending.progress.wait()
        streamed = self._newly_settled(pending.handles, progress)
        ended = [
            (pending.handles[place], status)
            for place, status in progress.ended
            if pending.handles[place] in self._batch
        ]
        if ended:
            handles = [handle for handle, _ in ended]
            hypotheses = self._hypotheses(handles)
            self._results.append(_PendingResults(self._batch.num_steps, ended, hypotheses))
            self._batch.remove(handles)
            self._leaving.update(handles)
        return streamed

    def _newly_settled(self, handles: list[int], progress: Progress) -> dict[int, list[int]]:
        streamed: dict[int, list[int]] = {}
        tokens = progress.tokens
        if tokens is None:
            return streamed
        token = tokens.item  # a slice of one takes four times as long
        for place, state in self._batch.streamed_among(handles):
            first, end = state.num_streamed, progress.stable[place]
            if end > first:
                is_one = end == first + 1
                new = [token(place, first)] if is_one else tokens[place, first:end].tolist()
                streamed[handles[place]] = new
                state.num_streamed = end
        return streamed

    def _hypotheses(self, handles: Sequence[int]) -> Pending[Ranked]:
        slots = [self._batch.slot(handle) for handle in handles]
        running = [self._batch[handle] for handle in handles]
        limits = [state.limit for state in running]
        n_best = max(state.source.options.n_best for state in running)
        hypotheses = self._decoder.results(slots, limits, n_best)
        ended = list(self._aligned_among(handles))
        return AlignedHypotheses(self._decoder, hypotheses, ended) if ended else hypotheses

    def _aligned_among(self, handles: Sequence[int]) -> Iterator[EndedSentence]:
        batch = self._batch
        for place, handle in enumerate(handles):
            state = batch[handle]
            if state.source.is_aligned:
                slot, row = batch.slot(handle), batch.first_row(handle)
                most = min(state.limit, batch.num_steps - state.first_step)
                yield EndedSentence(place, slot, row, len(state.source.ids), most)

    def _finished(self, pending: _PendingResults) -> Iterator[Finished]:
        """Ended sentences, except those that were forgotten."""
        results = pending.hypotheses.wait()
        for (handle, status), hypotheses in zip(pending.ended, results, strict=True):
            if not self.forget(handle):
                continue
            if status is Status.FAILED:
                yield Finished(handle, [], "the model gave no finite scores for this sentence")
            else:
                yield Finished(handle, hypotheses)
