"""The engine of one model, called from the event loop: sentences in, outcomes out.

Each worker runs in its own thread. A CPU has several workers, because two small batches
synchronise less than one large batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from model.decoding.sentence import SourceSentence
from service.engine.admission import AdmissionControl
from service.engine.batch_loop import BatchEntry, BatchLoop, CancelReason
from service.engine.interfaces import EngineRunner
from service.engine.schedule import Schedule
from service.engine.sentence_task import (
    EngineRequest,
    SentenceOutcome,
    SentenceTask,
    Update,
    expected_work,
    most_work,
)
from service.engine.sharing import SharedSentences
from service.engine.ticket import NO_TICKET, Ticket
from service.engine.worker import Worker
from service.errors import Draining, InvalidField, NotReady, Overloaded
from service.observability.metrics import ModelMetrics
from service.signals import end_after_failure

_SUBMITTED_AT_ONCE = 1000
"""Sentences of a request that are submitted in one iteration of the event loop: 10 ms."""


@dataclass(frozen=True)
class EngineLimits:
    """Bounds on the waiting work, and on the source tokens encoded between two steps.
    `is_preemptive`: short work goes first, else all in order of arrival. `cache_bytes`: bound on
    the cache of finished sentences; 0: none, and equal sentences are computed each by itself."""

    max_waiting_sentences: int
    max_waiting_tokens: int
    max_prefill_tokens: int
    is_preemptive: bool = True
    cache_bytes: int = 0


class Engine:
    """Translates sentences of many requests together; any number of coroutines may call it."""

    def __init__(
        self,
        make_runners: Sequence[Callable[[], EngineRunner]],
        metrics: ModelMetrics,
        limits: EngineLimits,
        busy_workers: set[Worker] | None = None,
        most_rebuilds: int | None = None,
        end_process: Callable[[str], None] = end_after_failure,
    ) -> None:
        """Make one worker for each of `make_runners`; the other arguments as for `Worker`."""
        self.admission = AdmissionControl(limits.max_waiting_sentences, limits.max_waiting_tokens)
        self._is_draining = False
        self._is_preemptive = limits.is_preemptive
        self._shared = SharedSentences(limits.cache_bytes, metrics, self._renew)
        busy_workers = set() if busy_workers is None else busy_workers
        self._workers = [
            Worker(
                make_runner,
                lambda runner: Schedule(runner, limits.max_prefill_tokens, limits.is_preemptive),
                self.admission,
                metrics,
                busy_workers,
                self._unready,
                self._shared.publish,
                most_rebuilds,
                end_process,
            )
            for make_runner in make_runners
        ]
        self.max_beam_size = min(worker.max_beam_size for worker in self._workers)
        self.max_target_tokens = min(worker.max_target_tokens for worker in self._workers)

    @property
    def is_ready(self) -> bool:
        """Whether the engine accepts new work."""
        return not self._is_draining and any(worker.is_running for worker in self._workers)

    @property
    def num_waiting(self) -> int:
        return self.admission.num_sentences

    @property
    def num_running(self) -> int:
        return sum(batch_loop.num_running for batch_loop in self._batch_loops)

    def gauges(self) -> dict[str, float]:
        """The values of ENGINE_GAUGES."""
        loops = self._batch_loops
        return {
            "workers": len(self._workers),
            "running": self.num_running,
            "set_aside": sum(batch_loop.num_set_aside for batch_loop in loops),
            "slots": sum(worker.max_slots for worker in self._workers),
            "rows_used": sum(batch_loop.num_rows for batch_loop in loops),
            "rows": sum(worker.max_rows for worker in self._workers),
            "waiting": self.admission.num_sentences,
            "waiting_tokens": self.admission.num_tokens,
            "ready": self.is_ready,
            "cache_bytes": self._shared.cache.num_bytes,
            "refused_paths": sum(worker.num_refused_paths for worker in self._workers),
        }

    def batch_entries(self, since: float) -> list[list[BatchEntry]]:
        """For each worker the sentences in its batch, and those that left after this monotonic
        time."""
        return [
            batch_loop.batch_entries(since) if (batch_loop := worker.batch_loop) else []
            for worker in self._workers
        ]

    def start(self) -> None:
        """Start the workers; futures resolve on the running event loop."""
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Fail all running and waiting sentences, and wait until the workers end."""
        for worker in self._workers:
            worker.request_stop()
        for worker in self._workers:
            worker.join()

    def refuse_new_work(self) -> None:
        """Continue only admitted work, including its second hop after a pivot."""
        self._is_draining = True

    def require_ready(self, name: str | None = None) -> None:
        """Raise NotReady or Draining unless new work is accepted; `name` names the engine."""
        if not self.is_ready:
            raise self._unready(name)

    def require_running(self) -> None:
        """Raise NotReady or Draining unless admitted work can continue."""
        if not any(worker.is_running for worker in self._workers):
            raise self._unready()

    def require_room(self, num_sentences: int, num_tokens: int = 0, client: str = "") -> None:
        """Raise NotReady, Draining or Overloaded unless this much of a client may wait."""
        if not self.is_ready:
            raise self._unready()
        if reason := self.admission.why_full(num_sentences, num_tokens, client):
            raise Overloaded(reason)

    def has_room(self, client: str) -> bool:
        """Whether one more sentence of a client may wait now."""
        return self.is_ready and not self.admission.why_full(1, client=client)

    async def translate(
        self, sentences: Sequence[SourceSentence], ticket: Ticket = NO_TICKET
    ) -> list[SentenceOutcome]:
        """Return one outcome per sentence, in order. Cancelling frees the slots by the next step.

        The sentences are as urgent as those of a request with their work and the ticket's prior
        work. Those not done by its deadline end with DeadlineExceeded. Raises as `require_room`,
        or only as `require_running` if the ticket is admitted; and InvalidField for a beam that can
        never fit.
        """
        request = self._request(sentences, ticket)
        try:
            self._start(request, 0, sentences)
            if len(sentences) > _SUBMITTED_AT_ONCE:
                await self._start_rest(request, sentences)
            return await request.future if sentences else []
        finally:
            self._end(request)

    @contextlib.asynccontextmanager
    async def stream(
        self, sentences: Sequence[SourceSentence], ticket: Ticket = NO_TICKET
    ) -> AsyncGenerator[AsyncIterator[Update]]:
        """Yield the sentences' updates as they arrive; leaving the block frees their slots.

        Only sentences with `is_streamed` send tokens before they end. Raises as `translate`.
        """
        request = self._request(sentences, ticket, asyncio.Queue())
        try:
            self._start(request, 0, sentences)
            await self._start_rest(request, sentences)
            yield request.updates()
        finally:
            self._end(request)

    def _request(
        self,
        sentences: Sequence[SourceSentence],
        ticket: Ticket,
        updates: asyncio.Queue[Update] | None = None,
    ) -> EngineRequest:
        """A request that ends at its deadline. Raises InvalidField."""
        widest = max((sentence.options.beam_size for sentence in sentences), default=1)
        if widest > self.max_beam_size:
            raise InvalidField(f"beam_size must be at most {self.max_beam_size}, got {widest}")
        work = 0
        if self._is_preemptive:
            work = ticket.prior_work + sum(map(expected_work, sentences))
        loop, arrived = asyncio.get_running_loop(), time.monotonic()
        count, future = len(sentences), loop.create_future()
        request = EngineRequest(future, arrived, count, work, ticket, updates)
        if ticket.ends_seconds is not None:
            request.timer = loop.call_at(ticket.ends_seconds, self._expire, request)
        return request

    def _end(self, request: EngineRequest) -> None:
        """Cancel what is not done."""
        if request.timer is not None:
            request.timer.cancel()
        if request.tasks:
            self._cancel(request, "client")

    async def _start_rest(
        self, request: EngineRequest, sentences: Sequence[SourceSentence]
    ) -> None:
        """Start the further parts, one in each iteration of the event loop."""
        for first in range(_SUBMITTED_AT_ONCE, len(sentences), _SUBMITTED_AT_ONCE):
            await asyncio.sleep(0)
            if request.future.done():  # its deadline has passed
                return
            self._start(request, first, sentences)

    def _start(
        self, request: EngineRequest, first: int, sentences: Sequence[SourceSentence]
    ) -> None:
        """Start the tasks of a part that are neither in the cache nor computed for others. The
        first part asks for room for its own, and for all that comes behind it."""
        end = first + _SUBMITTED_AT_ONCE
        tasks, rest = self._shared.join(request, sentences[first:end], first), sentences[end:]
        for task in tasks:
            task.most_work = most_work(task.sentence, self.max_target_tokens)
        if first or request.ticket.is_admitted:
            self.require_running()
        elif tasks or rest:
            num_tokens = sum(task.most_work for task in tasks)
            num_tokens += sum(most_work(one, self.max_target_tokens) for one in rest)
            self.require_room(len(tasks) + len(rest), num_tokens, request.ticket.client)
        else:
            self.require_ready()
        for worker, own in self._assigned(tasks).items():
            worker.put(own)

    def _assigned(self, tasks: Sequence[SentenceTask]) -> dict[Worker, list[SentenceTask]]:
        """Assign each task to the worker with the least load at that point."""
        loads = {worker: worker.load for worker in self._workers if worker.is_running}
        if not loads:
            raise self._unready()
        assigned: dict[Worker, list[SentenceTask]] = {}
        for task in sorted(tasks, key=lambda task: task.rank):
            worker = min(loads, key=lambda worker: loads[worker])
            loads[worker] += task.num_rows
            assigned.setdefault(worker, []).append(task)
        return assigned

    def _cancel(self, request: EngineRequest, reason: CancelReason) -> None:
        """Cancel the request's open tasks, except those that other requests want."""
        if tasks := self._shared.leave(request):
            for worker in self._workers:
                worker.cancel(tasks, reason)

    def _expire(self, request: EngineRequest) -> None:
        request.fail(request.ticket.deadline_error())
        self._cancel(request, "deadline")

    def _renew(self, task: SentenceTask) -> None:
        for worker in self._workers:
            worker.renew(task)

    @property
    def _batch_loops(self) -> list[BatchLoop]:
        """Those of the workers that have a runner."""
        found = [worker.batch_loop for worker in self._workers]
        return [batch_loop for batch_loop in found if batch_loop]

    def _unready(self, name: str | None = None) -> NotReady:
        if self._is_draining:
            return Draining("the server is about to stop and takes no more work")
        subject = f"the engine of {name}" if name else "the engine"
        return NotReady(f"{subject} is not running; try again later")
