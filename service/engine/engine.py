"""The engine of one model, as the event loop sees it: sentences go in, outcomes come out.

Its lanes do the work, each in a thread of its own. Where the CPU computes there is more than one:
with less to divide, cores wait less for each other than in a step that they all take together.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from dataclasses import dataclass

from model.decoding.sentence import SourceSentence
from service.engine.admission import AdmissionControl
from service.engine.interfaces import Runner
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import EngineRequest, SentenceOutcome, SentenceTask, Update
from service.engine.worker import Worker
from service.errors import Draining, InvalidField, NotReady, ServiceError
from service.observability.metrics import ModelMetrics


@dataclass(frozen=True)
class EngineLimits:
    """Bounds of what may wait, and of what is encoded between two steps."""

    max_waiting_sentences: int
    max_waiting_tokens: int
    max_prefill_tokens: int


class Engine:
    """Translates sentences of many requests together; any number of coroutines may call it."""

    def __init__(
        self,
        make_runners: Sequence[Callable[[], Runner]],
        metrics: ModelMetrics,
        limits: EngineLimits,
        busy_workers: set[Worker] | None = None,
    ) -> None:
        """One lane for each of `make_runners`; `busy_workers`: see `Worker`."""
        self.admission = AdmissionControl(limits.max_waiting_sentences, limits.max_waiting_tokens)
        self._is_draining = False
        busy_workers = set() if busy_workers is None else busy_workers
        self._workers = [
            Worker(
                make_runner,
                lambda: Scheduler(limits.max_prefill_tokens),
                self.admission,
                metrics,
                busy_workers,
                self._unready,
            )
            for make_runner in make_runners
        ]
        self._max_beam_size = min(worker.max_beam_size for worker in self._workers)
        self.max_target_tokens = min(worker.max_target_tokens for worker in self._workers)

    @property
    def is_ready(self) -> bool:
        """Whether new work is taken."""
        return self._is_running and not self._is_draining

    @property
    def num_workers(self) -> int:
        return len(self._workers)

    @property
    def num_waiting(self) -> int:
        return self.admission.num_sentences

    @property
    def num_running(self) -> int:
        return sum(worker.num_running for worker in self._workers)

    @property
    def num_rows(self) -> int:
        """Hypotheses in the batches."""
        return sum(worker.num_rows for worker in self._workers)

    def start(self) -> None:
        """Start the lanes; futures are resolved on the event loop that runs now."""
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Abandon what runs and waits, with an error, and wait for the lanes' end."""
        for worker in self._workers:
            worker.request_stop()
        for worker in self._workers:
            worker.join()

    def refuse_new_work(self) -> None:
        """Only what was admitted goes on, its second halves included."""
        self._is_draining = True

    def require_ready(self, name: str | None = None) -> None:
        """Raise NotReady or Draining unless work is taken; `name` is what to call the engine."""
        if not self.is_ready:
            raise self._unready(name)

    def require_running(self) -> None:
        """Raise NotReady or Draining unless work that was admitted can go on."""
        if not self._is_running:
            raise self._unready()

    def require_room(self, num_sentences: int, num_tokens: int = 0) -> None:
        """Raise NotReady, Draining or Overloaded unless this much may wait."""
        self.require_ready()
        self.admission.require_room(num_sentences, num_tokens)

    def refusal(self) -> ServiceError | None:
        """Why not even one more sentence could wait now."""
        try:
            self.require_room(1)
        except ServiceError as error:
            return error
        return None

    async def translate(
        self,
        sentences: Sequence[SourceSentence],
        deadline_seconds: float | None = None,
        *,
        is_admitted: bool = False,
    ) -> list[SentenceOutcome]:
        """One outcome a sentence, in order. Cancelling the call frees its slots by the next step.

        `deadline_seconds` from now, sentences that are not done end with DeadlineExceeded. Raises
        as `require_room`, or if the sentences are part of work that was admitted before only as
        `require_running`; and InvalidField for a beam that can never fit.
        """
        with self._begun(sentences, deadline_seconds, is_admitted) as request:
            return await request.future if sentences else []

    @contextlib.asynccontextmanager
    async def stream(
        self,
        sentences: Sequence[SourceSentence],
        deadline_seconds: float | None = None,
        *,
        is_admitted: bool = False,
    ) -> AsyncGenerator[AsyncIterator[Update]]:
        """Updates of the sentences as they are made; leaving the block frees their slots.

        Sentences are streamed as far as they ask for it (`is_streamed`). Raises as `translate`.
        """
        with self._begun(sentences, deadline_seconds, is_admitted) as request:
            yield request.updates()

    @contextlib.contextmanager
    def _begun(
        self, sentences: Sequence[SourceSentence], deadline_seconds: float | None, is_admitted: bool
    ) -> Generator[EngineRequest]:
        """A submitted request; if the block is left before it is done, it is cancelled."""
        widest = max((sentence.options.beam_size for sentence in sentences), default=1)
        if widest > self._max_beam_size:
            raise InvalidField(f"beam_size must be at most {self._max_beam_size}, got {widest}")
        loop = asyncio.get_running_loop()
        request = EngineRequest(loop.create_future(), time.monotonic())
        request.add(sentences)
        if sentences:
            self._submit(request, is_admitted)
        with contextlib.ExitStack() as at_end:
            if deadline_seconds is not None:
                timer = loop.call_later(deadline_seconds, self._expire, request)
                at_end.callback(timer.cancel)
            try:
                yield request
            finally:
                if request.num_unsettled:
                    self._cancel(request)

    def _submit(self, request: EngineRequest, is_admitted: bool) -> None:
        if is_admitted:
            self.require_running()
        else:
            num_tokens = sum(task.num_tokens for task in request.tasks)
            self.require_room(len(request.tasks), num_tokens)
        try:
            for worker, tasks in self._assigned(request.tasks).items():
                worker.put(tasks)
        except NotReady:
            self._cancel(request)
            raise

    def _assigned(self, tasks: Sequence[SentenceTask]) -> dict[Worker, list[SentenceTask]]:
        """Each sequence to the lane that has the least to do then."""
        loads = {worker: worker.load for worker in self._workers if worker.is_running}
        if not loads:
            raise self._unready()
        assigned: dict[Worker, list[SentenceTask]] = {}
        for task in sorted(tasks, key=lambda task: task.rank):
            worker = min(loads, key=lambda worker: loads[worker])
            loads[worker] += task.num_rows
            assigned.setdefault(worker, []).append(task)
        return assigned

    def _cancel(self, request: EngineRequest) -> None:
        for worker in self._workers:
            worker.cancel(request)

    def _expire(self, request: EngineRequest) -> None:
        for worker in self._workers:
            worker.expire(request)

    @property
    def _is_running(self) -> bool:
        return any(worker.is_running for worker in self._workers)

    def _unready(self, name: str | None = None) -> NotReady:
        if self._is_draining:
            return Draining("the server is about to stop and takes no more work")
        subject = f"the engine of {name}" if name else "the engine"
        return NotReady(f"{subject} is not running; try again later")
