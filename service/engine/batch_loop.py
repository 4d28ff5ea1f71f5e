"""The batch loop: admit, step, settle. Only the worker's thread may change it."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from model.decoding.sentence import Finished
from model.decoding.step_cost import NOMINAL, StepCost
from model.device_lost import DeviceLost
from service.engine.admission import AdmissionControl
from service.engine.batch_entries import BatchEntry, RecentEntries, running_entries
from service.engine.interfaces import Runner
from service.engine.joining import Joining
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import (
    EngineRequest,
    SentenceOutcome,
    SentenceTask,
    Update,
    deadline_error,
)
from service.engine.step_cost import StepCostEstimate
from service.engine.step_policy import StepPolicy
from service.engine.step_times import StepTimes
from service.errors import Draining, ServiceError, TranslationFailed
from service.observability.metrics import ModelMetrics

_logger = logging.getLogger(__name__)
Updates = list[tuple[SentenceTask, Update]]


@dataclass(frozen=True)
class _Composition:
    """What a call of `BatchLoop.step` does. `has_newcomers`: it took tasks that waited. `subset`:
    the running tasks to step; None: all. `only_encodes`: it ends before a step, so that what
    arrived during the encoding can join."""

    has_newcomers: bool
    subset: list[SentenceTask] | None = None
    only_encodes: bool = False


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
        is_preemptive: bool = True,
        make_policy: Callable[[StepCost], StepPolicy] = StepPolicy,
    ) -> None:
        """`is_preemptive`: steps take batches of bounded cost, if the runner can step a subset."""
        self._runner, self._scheduler = runner, scheduler
        self._is_preemptive = is_preemptive
        self._admission, self._metrics = admission, metrics
        self._open: set[SentenceTask] = set()
        self._running: dict[int, SentenceTask] = {}
        self._cost = StepCostEstimate(runner.step_cost) if runner.step_cost else None
        self._step_policy = make_policy(runner.step_cost or NOMINAL)
        self._joining = Joining(runner, scheduler, self._step_policy)
        self._step_times = StepTimes(metrics)
        self._encode_seconds = 0.0
        self._recent = RecentEntries()
        self._updates: Updates = []
        self._num_left_out = 0
        self._owes_step = False

    @property
    def is_idle(self) -> bool:
        return not self._running and not self._scheduler

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def num_set_aside(self) -> int:
        """Running tasks that the last step left out."""
        return min(self._num_left_out, len(self._running))

    def add(self, tasks: Sequence[SentenceTask]) -> None:
        """Queue the tasks for admission."""
        self._open.update(tasks)
        self._scheduler.add(tasks)

    def cancel(self, request: EngineRequest, tasks: Collection[SentenceTask]) -> None:
        """Close and evict those of the request's tasks that are open, without an answer."""
        cancelled = self._open.intersection(tasks)
        self._close(cancelled)
        self._evict(request, cancelled)
        for _ in cancelled:
            self._metrics.count_finished("cancelled")
            self._metrics.count_cancelled("client")

    def expire(self, request: EngineRequest, tasks: Collection[SentenceTask]) -> None:
        """Fail those of the request's tasks that are open with DeadlineExceeded, and evict them."""
        expired = self._open.intersection(tasks)
        self._fail(expired, deadline_error(request), "deadline")
        self._evict(request, expired)
        self._metrics.count_cancelled("deadline", len(expired))

    def stream(self, task: SentenceTask) -> None:
        """Send the tokens of a task that is open, from its first one on."""
        if task in self._open:
            task.sentence = dataclasses.replace(task.sentence, is_streamed=True)
            if task.handle in self._running:
                self._runner.stream(task.handle)

    @property
    def num_rows(self) -> int:
        """Hypotheses of the running sentences."""
        return self._step_policy.num_rows

    def batch_entries(self, since: float) -> list[BatchEntry]:
        """The running sentences, and those that left after this monotonic time. Any thread may
        call it: the list of running tasks is copied at once."""
        return [*running_entries(list(self._running.values())), *self._recent.since(since)]

    @property
    def _can_leave_out(self) -> bool:
        """Whether a step may leave tasks out."""
        return self._is_preemptive and self._runner.can_step_subset

    def step(self, num_at_work: int) -> None:
        """Admit tasks that fit, decode one token of the selected tasks, settle the finished ones;
        or only admit some, so that the caller can first add what came while they were encoded.
        `num_at_work` runners share the cores now."""
        runner = self._runner
        runner.share_cores(num_at_work)
        started, self._encode_seconds = time.monotonic(), 0.0
        composed = self._compose()
        if composed.only_encodes:
            return
        if self._running:
            self._settle_finished(self._decode(composed.subset))
            self._observe_cost(time.monotonic() - started - self._encode_seconds)
        elif self._scheduler and not composed.has_newcomers:
            raise RuntimeError("nothing runs and yet the runner has no room")

    def _compose(self) -> _Composition:
        """Admit tasks -> what to step."""
        if not self._can_leave_out:
            newcomers = self._joining.next_in_order(len(self._running))
            self._admit(newcomers)
            return _Composition(bool(newcomers))
        short = self._joining.short(len(self._running))
        self._admit(short)
        if taken := self._step_policy.take_short():
            return _Composition(bool(short), taken)
        owes_step, self._owes_step = self._owes_step, False
        if owes_step and self._running:
            return _Composition(bool(short), self._step_policy.take_batch())
        num_running = len(self._running)
        newcomers = self._joining.next_for_batch(num_running)
        self._admit(newcomers)
        self._owes_step = bool(newcomers and num_running)
        if self._owes_step:
            return _Composition(has_newcomers=True, only_encodes=True)
        return _Composition(bool(short or newcomers), self._step_policy.take_batch())

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

    def _evict(self, request: EngineRequest, tasks: Collection[SentenceTask]) -> None:
        """Remove the request's closed tasks from the batch and the queue."""
        self._scheduler.remove(request, tasks)
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
        except DeviceLost:
            raise
        except Exception as error:
            if len(tasks) > 1:
                for task in tasks:
                    self._admit([task])
            else:
                self._refuse(tasks[0], error)
            return
        self._admission.leave(tasks)
        encode_seconds = time.monotonic() - started
        self._encode_seconds += encode_seconds
        if self._cost:
            self._cost.observe_encoding(sum(task.num_tokens for task in tasks), encode_seconds)
        self._metrics.encode_seconds.observe(encode_seconds)
        self._step_times.enter(tasks)
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

    def _decode(self, taken: list[SentenceTask] | None) -> Sequence[Finished]:
        """Step these tasks, or all if None."""
        started = time.monotonic()
        num_rows = self._runner.max_rows - self._runner.num_free_rows
        if taken is not None:
            num_rows = self._step_policy.step_size[0]
        self._num_left_out = 0 if taken is None else len(self._running) - len(taken)
        self._metrics.step_rows.observe(num_rows)
        try:
            result = self._runner.step(_handles(taken))
        except DeviceLost:
            raise
        except Exception:
            _logger.exception("a step failed with %d sentences running", len(self._running))
            self._fail_running()
            return []
        self._observe_step(taken, started, time.monotonic())
        for handle, ids in result.streamed.items():
            task = self._running[handle]
            self._updates.append((task, Update(task.index, ids)))
        return result.finished

    def _observe_step(self, taken: list[SentenceTask] | None, started: float, ended: float) -> None:
        if self._can_leave_out:
            tasks = list(self._running.values()) if taken is None else taken
            self._step_times.observe_step(tasks, started, ended)
        else:
            self._step_times.observe_full_step(len(self._running), started, ended)

    def _observe_cost(self, seconds: float) -> None:
        """Keep the measured costs current; `seconds` of the last step with its host work."""
        if self._cost and self._can_leave_out:
            self._cost.observe_step(*self._step_policy.step_size, seconds)
            self._step_policy.cost = self._cost.current

    def _fail_running(self) -> None:
        for task in list(self._running.values()):
            self._fail([task], _failed("the model failed"), "error")
            self._release(task)

    def _settle_finished(self, finished: Sequence[Finished]) -> None:
        ended = time.monotonic()
        for result in finished:
            task = self._leave(result.handle)
            if result.error is not None:
                self._fail([task], _failed(result.error), "error")
                continue
            best = result.hypotheses[0]
            self._metrics.count_target_tokens(len(best.log_probs))
            outcome = SentenceOutcome(
                result.hypotheses, times=task.times(ended), work=task.attained_work
            )
            self._settle(task, outcome, best.finish_reason)

    def _settle(self, task: SentenceTask, outcome: SentenceOutcome, reason: str) -> None:
        self._answer(task, outcome)
        self._metrics.count_finished(reason)

    def _answer(self, task: SentenceTask, outcome: SentenceOutcome) -> None:
        task.outcome = outcome
        self._updates.append((task, Update(task.index, outcome=outcome)))
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
        self._step_times.leave(task)
        self._recent.add(task, time.monotonic())
        return task


def _handles(tasks: list[SentenceTask] | None) -> list[int] | None:
    """Handles of running tasks; None stays None."""
    if tasks is None:
        return None
    return sorted(task.handle for task in tasks if task.handle is not None)


def _failed(reason: str) -> TranslationFailed:
    return TranslationFailed(f"a sentence could not be translated: {reason}")
