"""The batch loop: admit, choose, step, settle. Only the worker's thread may change it."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from model.backends.device_lost import DeviceLost
from model.decoding.sentence import StepResult
from service.engine.admission import AdmissionControl
from service.engine.engine_runner import EngineRunner
from service.engine.schedule import Schedule
from service.engine.sentence_task import CancelReason, News, SentenceOutcome, SentenceTask
from service.errors import Draining, ServiceError, TranslationFailed
from service.observability.metrics import ModelMetrics

_logger = logging.getLogger(__name__)
_MOST_LEFT = 256
Updates = list[tuple[SentenceTask, News]]


_Entry = tuple[int, int, int, int, float, float | None]
"""The fields of a `BatchEntry`, which is made when somebody watches."""


class BatchEntry(NamedTuple):
    """A sentence in a batch, for people who watch it.

    `number` is unique in its worker. `num_steps` is 0 where each step takes all sentences. `joined`
    and `left` are monotonic seconds; `left` is None while the sentence runs."""

    number: int
    num_rows: int
    num_tokens: int
    num_steps: int
    joined: float
    left: float | None


class BatchLoop:
    """One runner, the sentence tasks that run on it, and those that wait for it.

    A task is open from `add` until it is settled or cancelled. The set of open tasks stays
    correct when anything else fails, so `abandon` can answer every one.
    """

    def __init__(
        self,
        runner: EngineRunner,
        schedule: Schedule,
        admission: AdmissionControl,
        metrics: ModelMetrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner, self._schedule = runner, schedule
        self._admission, self._metrics, self._clock = admission, metrics, clock
        self._running = schedule.running
        self._open: set[SentenceTask] = set()
        self._left: deque[_Entry] = deque(maxlen=_MOST_LEFT)
        self._updates: Updates = []
        self._num_left_out = self._num_at_work = 0

    @property
    def is_idle(self) -> bool:
        return not self._running and not self._schedule.waiting

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def num_set_aside(self) -> int:
        """Running tasks that the last step left out."""
        return min(self._num_left_out, len(self._running))

    @property
    def num_rows(self) -> int:
        """Hypotheses of the running sentences."""
        return self._running.num_rows

    def batch_entries(self, since: float) -> list[BatchEntry]:
        """The running sentences, and those that left after this monotonic time. Any thread may
        call it: the list of running tasks is copied at once."""
        num_steps, running = self._running.num_steps, list(self._running.by_handle.values())
        entries = [BatchEntry(*_entry(task, num_steps(task), None)) for task in running]
        newest_first = map(BatchEntry._make, reversed(self._left.copy()))
        recent = itertools.takewhile(lambda entry: (entry.left or 0.0) > since, newest_first)
        return [*entries, *list(recent)[::-1]]

    def add(self, tasks: Sequence[SentenceTask]) -> None:
        """Queue the tasks for admission."""
        self._open.update(tasks)
        self._schedule.waiting.add(tasks)

    def cancel(self, tasks: Collection[SentenceTask], reason: CancelReason) -> None:
        """Close and evict those of the tasks that are open, without an answer."""
        cancelled = self._open.intersection(tasks)
        self._close(cancelled)
        self._schedule.waiting.remove(cancelled)
        for task in cancelled:
            self._release(task)
            self._metrics.count_finished("cancelled" if reason == "client" else reason)
        self._metrics.count_cancelled(reason, len(cancelled))

    def renew(self, task: SentenceTask) -> None:
        """Send the tokens of a task that is open, from its first one on, if they are wanted now;
        and make it as urgent as it is now."""
        if task not in self._open:
            return
        is_newly_streamed = task.is_streamed and not task.sentence.is_streamed
        if is_newly_streamed:
            task.sentence = dataclasses.replace(task.sentence, is_streamed=True)
        if task.handle is not None:
            self._running.renew_level(task)
            if is_newly_streamed:
                self._runner.stream(task.handle)

    def step(self, num_at_work: int) -> None:
        """Admit newcomers, choose who steps, decode one token of each, settle those that ended.
        `num_at_work` runners share the cores now."""
        if num_at_work != self._num_at_work:
            self._runner.share_cores(num_at_work)
            self._num_at_work = num_at_work
        if newcomers := self._schedule.newcomers():
            self._admit(newcomers)
        elif self._running:
            chosen = self._schedule.choose()
            result = self._decode(chosen)
            self._settle(result)

    def abandon(self, error: ServiceError) -> None:
        """Answer the open tasks with an error. Use neither runner nor schedule: they may be
        broken."""
        left = list(self._open)
        self._running.clear()
        for task in left:
            self._answer(task, SentenceOutcome([], error))
        try:
            if isinstance(error, Draining):
                self._metrics.count_cancelled("drain", len(left))
            for _ in left:
                self._metrics.count_finished("error")
        except Exception:
            _logger.exception("%d abandoned sentences could not be counted", len(left))

    def take_updates(self) -> Updates:
        """Return the updates since the last call."""
        updates, self._updates = self._updates, []
        return updates

    def _admit(self, tasks: list[SentenceTask]) -> None:
        """Add tasks to the batch; if the runner refuses them, retry each task alone."""
        started = self._clock()
        try:
            handles = self._runner.admit([task.sentence for task in tasks])
        except DeviceLost:
            raise
        except Exception as error:
            if len(tasks) > 1:
                for task in tasks:
                    self._admit([task])
            else:
                _logger.warning("the runner refused a sentence: %s", type(error).__name__)
                reason = str(error) if isinstance(error, ValueError) else "the model failed"
                self._fail(tasks[0], reason)
            return
        encoded = self._clock()
        self._schedule.account(encoded - started)
        self._metrics.encode_seconds.observe(encoded - started)
        for task, handle in zip(tasks, handles, strict=True):
            self._running.enter(task, handle)
            task.admitted_seconds, task.encoded_seconds = started, encoded
            task.stepped_seconds = encoded
            self._metrics.queue_wait_seconds.observe(started - task.request.arrived_seconds)
        self._metrics.count_source_tokens([task.num_tokens for task in tasks])
        self._admission.leave(tasks)  # who watches sees each task wait or run, at any moment

    def _decode(self, chosen: list[SentenceTask] | None) -> StepResult:
        """Step these tasks, or all if None."""
        started, handles = self._clock(), None
        self._num_left_out = 0 if chosen is None else len(self._running) - len(chosen)
        if chosen is not None:
            handles = sorted(task.handle for task in chosen if task.handle is not None)
        self._metrics.step_rows.observe(self._schedule.num_units)
        try:
            result = self._runner.step(handles)
        except DeviceLost:
            raise
        except Exception:
            _logger.exception("a step failed with %d sentences running", len(self._running))
            for task in list(self._running.by_handle.values()):
                self._fail(task, "the model failed")
                self._release(task)
            return StepResult([], {})
        self._observe_step(chosen, started, self._clock())
        return result

    def _observe_step(
        self, chosen: list[SentenceTask] | None, started: float, ended: float
    ) -> None:
        """Observe the time of a step, and the longest wait for it."""
        self._schedule.account(ended - started)
        metrics, since = self._metrics, self._running.waits_since(chosen)
        metrics.decode_step_seconds.observe(ended - started)
        if since is not None:
            metrics.inter_token_seconds.observe(ended - since)
        is_counted = self._schedule.can_leave_out
        for task in self._running.note_step(chosen, ended, is_counted=is_counted):
            metrics.time_to_first_token_seconds.observe(ended - task.request.arrived_seconds)

    def _settle(self, result: StepResult) -> None:
        """Publish what was streamed and what has ended."""
        for handle, ids in result.streamed.items():
            self._updates.append((self._running.by_handle[handle], ids))
        ended = self._clock()
        for one in result.finished:
            task = self._leave(one.handle, ended)
            if one.error is not None:
                self._fail(task, one.error)
                continue
            best = one.hypotheses[0]
            work = task.num_tokens + task.num_rows * (task.num_steps or len(best.log_probs))
            arrived, admitted = task.request.arrived_seconds, task.admitted_seconds
            outcome = SentenceOutcome(
                one.hypotheses, None, arrived, admitted, task.encoded_seconds, ended, work
            )
            self._open.discard(task)
            self._updates.append((task, outcome))
            self._metrics.count_finished(best.finish_reason, len(best.log_probs))

    def _fail(self, task: SentenceTask, reason: str) -> None:
        error = TranslationFailed(f"a sentence could not be translated: {reason}")
        self._answer(task, SentenceOutcome([], error))
        self._metrics.count_finished("error")

    def _answer(self, task: SentenceTask, outcome: SentenceOutcome) -> None:
        self._updates.append((task, outcome))
        self._close([task])

    def _close(self, tasks: Collection[SentenceTask]) -> None:
        self._open.difference_update(tasks)
        self._admission.leave(tasks)

    def _release(self, task: SentenceTask) -> None:
        if task.handle in self._running.by_handle:
            self._runner.release(task.handle)
            self._leave(task.handle, self._clock())

    def _leave(self, handle: int, now: float) -> SentenceTask:
        task = self._running.leave(handle)
        self._left.append(_entry(task, task.num_steps, now))
        return task


def _entry(task: SentenceTask, num_steps: int, left: float | None) -> _Entry:
    number = -1 if task.handle is None else task.handle
    return number, task.num_rows, task.num_tokens, num_steps, task.admitted_seconds, left
