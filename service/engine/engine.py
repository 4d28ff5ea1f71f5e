"""The engine of one model, called from the event loop: sentences in, outcomes out.

Each worker runs in its own thread. A CPU has several workers, because two small batches
synchronise less than one large batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from model.decoding.sentence import SourceSentence
from service.engine.admission import AdmissionControl
from service.engine.batch_loop import BatchEntry, BatchLoop
from service.engine.engine_runner import EngineRunner
from service.engine.pooled_engine import PooledEngine, not_running
from service.engine.schedule import Schedule
from service.engine.sentence_engine import NO_ROOM, Room
from service.engine.sentence_task import CancelReason, EngineRequest, SentenceTask, most_work
from service.engine.sharing import SharedSentences
from service.engine.worker import NICENESS, Worker
from service.errors import Draining, NotReady, Overloaded
from service.observability.metrics import ModelMetrics
from service.signals import end_after_failure


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


class Engine(PooledEngine):
    """An engine whose workers are threads of this process."""

    def __init__(
        self,
        make_runners: Sequence[Callable[[], EngineRunner]],
        metrics: ModelMetrics,
        limits: EngineLimits,
        busy_workers: set[Worker] | None = None,
        most_rebuilds: int | None = None,
        end_process: Callable[[str], None] = end_after_failure,
        niceness: int = NICENESS,
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
                niceness,
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
        """Start all workers or none; futures resolve on the running event loop. Raises RuntimeError
        if the system has no thread."""
        try:
            for worker in self._workers:
                worker.start()
        except RuntimeError:
            self.stop()
            raise

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
        if not any(worker.is_running for worker in self._workers):
            raise self._unready()

    def require_room(self, num_sentences: int, num_tokens: int = 0, client: str = "") -> None:
        if not self.is_ready:
            raise self._unready()
        if reason := self.admission.why_full(num_sentences, num_tokens, client):
            raise Overloaded(reason)

    def has_room(self, client: str) -> bool:
        """Whether one more sentence of a client may wait now."""
        return self.is_ready and not self.admission.why_full(1, client=client)

    def submit(
        self,
        request: EngineRequest,
        first: int,
        sentences: Sequence[SourceSentence],
        rest: Room | None = NO_ROOM,
    ) -> None:
        """As of a `SentenceEngine`, of any request. What is in the cache or computed for others
        starts no task, and needs no room."""
        if not self._is_preemptive:
            request.expected_work = 0
        tasks = self._shared.join(request, sentences, first)
        for task in tasks:
            task.most_work = most_work(task.sentence, self.max_target_tokens)
        if rest is None or request.ticket.is_admitted:
            self.require_running()
        elif tasks or rest.num_sentences:
            num_tokens = sum(task.most_work for task in tasks) + rest.num_tokens
            num_sentences = len(tasks) + rest.num_sentences
            self.require_room(num_sentences, num_tokens, request.ticket.client)
        else:
            self.require_ready()
        for worker, own in self._assigned(tasks).items():
            worker.put(own)

    async def require_accepted(self, _: EngineRequest) -> None:
        """What was submitted is accepted."""

    def cancel(self, request: EngineRequest, reason: CancelReason) -> None:
        """Cancel the request's open tasks, except those that other requests want."""
        if tasks := self._shared.leave(request):
            for worker in self._workers:
                worker.cancel(tasks, reason)

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

    def _renew(self, task: SentenceTask) -> None:
        for worker in self._workers:
            worker.renew(task)

    @property
    def _batch_loops(self) -> list[BatchLoop]:
        """Those of the workers that have a runner."""
        found = [worker.batch_loop for worker in self._workers]
        return [batch_loop for batch_loop in found if batch_loop]

    def _unready(self, name: str | None = None) -> NotReady:
        return Draining() if self._is_draining else not_running(name)
