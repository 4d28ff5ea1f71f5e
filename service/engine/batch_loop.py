"""The batch loop: admit, step, settle. Only the worker's thread may change it."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Sequence

from model.decoding.sentence import Finished
from service.engine.admission import AdmissionControl
from service.engine.interfaces import Runner
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import EngineRequest, SentenceOutcome, SentenceTask, Update
from service.engine.step_policy import StepPolicy
from service.errors import DeadlineExceeded, Draining, ServiceError, TranslationFailed
from service.observability.metrics import ModelMetrics

_logger = logging.getLogger(__name__)
Updates = list[tuple[EngineRequest, Update]]


class BatchLoop:
    """One runner, the sentence tasks that run on it, and those that wait for it.

    A task is open from `add` until it is settled or cancelled. The set of open tasks stays
    correct when anything else fails, so `abandon` can answer every one.
    """

    def __init__(
        self,
        runner: Runner,
        scheduler: Scheduler,
        admission: AdmissionControl,
        metrics: ModelMetrics,
    ) -> None:
        self._runner, self._scheduler = runner, scheduler
        self._admission, self._metrics = admission, metrics
        self._open: set[SentenceTask] = set()
        self._running: dict[int, SentenceTask] = {}
        self._step_policy = StepPolicy()
        self._fresh: list[SentenceTask] = []
        self._last_step_seconds = self._last_whole_step_seconds = 0.0
        self._updates: Updates = []

    @property
    def is_idle(self) -> bool:
        return not self._running and not self._scheduler

    @property
    def num_running(self) -> int:
        return len(self._running)

    def add(self, tasks: Sequence[SentenceTask]) -> None:
        """Queue the tasks for admission."""
        self._open.update(tasks)
        self._scheduler.add(tasks)

    def cancel(self, request: EngineRequest) -> None:
        """Close and evict the request's open tasks without an answer."""
        cancelled = self._open.intersection(request.tasks)
        self._close(cancelled)
        self._evict(request, cancelled)
        for _ in cancelled:
            self._metrics.count_finished("cancelled")
            self._metrics.count_cancelled("client")

    def expire(self, request: EngineRequest) -> None:
        """Fail the request's open tasks with DeadlineExceeded, and evict them."""
        waited_ms = (time.monotonic() - request.arrived_seconds) * 1000
        error = DeadlineExceeded(f"not done after {waited_ms:.0f} ms, when its deadline was over")
        expired = self._open.intersection(request.tasks)
        self._fail(expired, error, "deadline")
        self._evict(request, expired)
        self._metrics.count_cancelled("deadline", len(expired))

    @property
    def num_rows(self) -> int:
        """Hypotheses of the running sentences."""
        return self._step_policy.num_rows

    def step(self, num_at_work: int) -> None:
        """Admit tasks that fit, decode one token of the selected tasks, settle the finished ones.
        `num_at_work` runners share the cores now."""
        runner = self._runner
        runner.share_cores(num_at_work)
        taken = self._scheduler.take(
            runner.num_free_slots, runner.num_free_rows, len(self._running)
        )
        self._admit(taken)
        if self._running:
            self._settle_finished(self._decode())
        elif self._scheduler and not taken:
            raise RuntimeError("nothing runs and yet the runner has no room")

    def abandon(self, error: ServiceError, newcomers: Sequence[SentenceTask]) -> None:
        """Answer the open tasks and `newcomers` with an error. Use neither runner nor scheduler:
        they may be broken."""
        left = [*self._open, *newcomers]
        self._running.clear()
        self._step_policy = StepPolicy()
        for task in left:
            self._answer(task, SentenceOutcome([], error))
        try:
            self._count_abandoned(len(left), error)
        except Exception:
            _logger.exception("%d abandoned sentences could not be counted", len(left))

    def take_updates(self) -> Updates:
        """Return the updates since the last call."""
        updates, self._updates = self._updates, []
        return updates

    def _evict(self, request: EngineRequest, tasks: Iterable[SentenceTask]) -> None:
        """Remove the request's closed tasks from the batch and the queue."""
        self._scheduler.remove(request)
        for task in tasks:
            self._release(task)

    def _count_abandoned(self, count: int, error: ServiceError) -> None:
        if isinstance(error, Draining):
            self._metrics.count_cancelled("drain", count)
        for _ in range(count):
            self._metrics.count_finished("error")

    def _fail(self, tasks: Iterable[SentenceTask], error: ServiceError, reason: str) -> None:
        for task in tasks:
            self._settle(task, SentenceOutcome([], error), reason)

    def _admit(self, tasks: list[SentenceTask]) -> None:
        """Add tasks to the batch; if the runner refuses them, retry each task alone."""
        if not tasks:
            return
        started = time.monotonic()
        try:
            handles = self._runner.admit([task.sentence for task in tasks])
        except Exception as error:
            if len(tasks) > 1:
                for task in tasks:
                    self._admit([task])
            else:
                self._refuse(tasks[0], error)
            return
        self._admission.leave(tasks)
        encode_seconds = time.monotonic() - started
        self._metrics.encode_seconds.observe(encode_seconds)
        self._fresh += tasks
        for task, handle in zip(tasks, handles, strict=True):
            task.handle = handle
            task.admitted_seconds, task.encode_seconds = started, encode_seconds
            self._running[handle] = task
            self._step_policy.enter(task)
            self._metrics.queue_wait_seconds.observe(started - task.request.arrived_seconds)
            self._metrics.count_source_tokens(task.num_tokens)

    def _refuse(self, task: SentenceTask, error: Exception) -> None:
        _logger.warning("the runner refused a sentence: %s", type(error).__name__)
        reason = str(error) if isinstance(error, ValueError) else "the model failed"
        self._fail([task], _failed(reason), "error")

    def _decode(self) -> Sequence[Finished]:
        started = time.monotonic()
        taken = self._step_policy.take(self._runner.can_step_subset and not self._scheduler)
        num_rows = self._runner.max_rows - self._runner.num_free_rows
        if taken is not None:
            num_rows = sum(task.num_rows for task in taken)
        self._metrics.step_rows.observe(num_rows)
        try:
            result = self._runner.step(_handles(taken))
        except Exception:
            _logger.exception("a step failed with %d sentences running", len(self._running))
            self._fail_running()
            return []
        self._observe_step(started, time.monotonic(), is_of_all=taken is None)
        for handle, ids in result.streamed.items():
            task = self._running[handle]
            self._updates.append((task.request, Update(task.index, ids)))
        return result.finished

    def _fail_running(self) -> None:
        self._fresh.clear()
        for task in list(self._running.values()):
            self._fail([task], _failed("the model failed"), "error")
            self._release(task)

    def _observe_step(self, started: float, ended: float, is_of_all: bool) -> None:
        """After a full step, measure from the last full step: some tasks skipped those between."""
        self._metrics.decode_step_seconds.observe(ended - started)
        if len(self._running) > len(self._fresh):
            last = self._last_whole_step_seconds if is_of_all else self._last_step_seconds
            self._metrics.inter_token_seconds.observe(ended - last)
        for task in self._fresh:
            arrived = task.request.arrived_seconds
            self._metrics.time_to_first_token_seconds.observe(ended - arrived)
        self._fresh.clear()
        self._last_step_seconds = ended
        if is_of_all:
            self._last_whole_step_seconds = ended

    def _settle_finished(self, finished: Sequence[Finished]) -> None:
        ended = time.monotonic()
        for result in finished:
            task = self._leave(result.handle)
            if result.error is not None:
                self._fail([task], _failed(result.error), "error")
                continue
            best = result.hypotheses[0]
            self._metrics.count_target_tokens(len(best.log_probs))
            outcome = SentenceOutcome(result.hypotheses, times=task.times(ended))
            self._settle(task, outcome, best.finish_reason)

    def _settle(self, task: SentenceTask, outcome: SentenceOutcome, reason: str) -> None:
        self._answer(task, outcome)
        self._metrics.count_finished(reason)

    def _answer(self, task: SentenceTask, outcome: SentenceOutcome) -> None:
        task.outcome = outcome
        self._updates.append((task.request, Update(task.index, outcome=outcome)))
        self._close([task])

    def _close(self, tasks: Collection[SentenceTask]) -> None:
        self._open.difference_update(tasks)
        self._admission.leave(tasks)

    def _release(self, task: SentenceTask) -> None:
        if task.handle in self._running:
            self._leave(task.handle)
            self._runner.release(task.handle)

    def _leave(self, handle: int) -> SentenceTask:
        task = self._running.pop(handle)
        self._step_policy.leave(task)
        return task


def _handles(tasks: list[SentenceTask] | None) -> list[int] | None:
    """Handles of running tasks; None stays None."""
    if tasks is None:
        return None
    return [task.handle for task in tasks if task.handle is not None]


def _failed(reason: str) -> TranslationFailed:
    return TranslationFailed(f"a sentence could not be translated: {reason}")
