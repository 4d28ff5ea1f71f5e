"""The engine: asyncio on one side, the thread that turns the crank on the other.

The event loop talks to the thread through one queue, and is woken at most once a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from collections.abc import Sequence as Items
from dataclasses import dataclass

from model.sentence import SourceSentence
from service.backlog import Backlog
from service.crank import Crank, News
from service.errors import Draining, InvalidField, NotReady, ServiceError
from service.metrics import ModelMetrics
from service.scheduler import Scheduler
from service.seam import Runner
from service.sequence import Outcome, Request, Update

_logger = logging.getLogger(__name__)
_REBUILD_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class EngineLimits:
    """Bounds of what may wait, and of what is encoded between two steps."""

    max_waiting_sentences: int
    max_waiting_tokens: int
    max_prefill_tokens: int


@dataclass(frozen=True)
class _Stop:
    """The last message: leave the loop."""


@dataclass(frozen=True)
class _Cancel:
    """Nobody waits for the request any more."""

    request: Request


@dataclass(frozen=True)
class _Expire:
    """The request's deadline is over."""

    request: Request


_Message = Request | _Cancel | _Expire | _Stop


class Engine:
    """Translates sentences of many requests together; any number of coroutines may call it.

    If turning the crank fails beyond one step, everything in it is answered with an error, a new
    runner is made, and the engine is ready again.
    """

    def __init__(
        self, make_runner: Callable[[], Runner], metrics: ModelMetrics, limits: EngineLimits
    ) -> None:
        self.backlog = Backlog(limits.max_waiting_sentences, limits.max_waiting_tokens)
        self._is_running = self._is_draining = False
        self._make_runner, self._metrics, self._limits = make_runner, metrics, limits
        self._inbox: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner = make_runner()
        self._crank = self._new_crank()

    @property
    def is_ready(self) -> bool:
        """Whether new work is taken."""
        return self._is_running and not self._is_draining

    @property
    def num_waiting(self) -> int:
        return self.backlog.num_sentences

    @property
    def num_running(self) -> int:
        return self._crank.num_running

    @property
    def num_rows(self) -> int:
        """Hypotheses in the batch."""
        return self._runner.max_rows - self._runner.num_free_rows

    def start(self) -> None:
        """Start the thread; futures are resolved on the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="dragoman-engine", daemon=True)
        self._is_running = True
        self._thread.start()

    def stop(self) -> None:
        """Abandon what runs and waits, with an error, and join the thread."""
        self._is_running = False
        self._inbox.put(_Stop())
        if self._thread is not None:
            self._thread.join()

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
        self.backlog.require_room(num_sentences, num_tokens)

    def refusal(self) -> ServiceError | None:
        """Why not even one more sentence could wait now."""
        try:
            self.require_room(1)
        except ServiceError as error:
            return error
        return None

    async def translate(
        self,
        sentences: Items[SourceSentence],
        deadline_seconds: float | None = None,
        *,
        is_admitted: bool = False,
    ) -> list[Outcome]:
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
        sentences: Items[SourceSentence],
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
        self, sentences: Items[SourceSentence], deadline_seconds: float | None, is_admitted: bool
    ) -> Generator[Request]:
        """A submitted request; if the block is left before it is done, it is cancelled."""
        widest = max((sentence.options.beam_size for sentence in sentences), default=1)
        if widest > self._runner.max_beam_size:
            raise InvalidField(
                f"beam_size must be at most {self._runner.max_beam_size}, got {widest}"
            )
        loop = asyncio.get_running_loop()
        request = Request(loop.create_future(), time.monotonic())
        request.add(sentences)
        if sentences:
            self._submit(request, is_admitted)
        with contextlib.ExitStack() as at_end:
            if deadline_seconds is not None:
                timer = loop.call_later(deadline_seconds, self._inbox.put, _Expire(request))
                at_end.callback(timer.cancel)
            try:
                yield request
            finally:
                if request.num_unsettled:
                    self._inbox.put(_Cancel(request))

    def _submit(self, request: Request, is_admitted: bool) -> None:
        num_tokens = sum(sequence.num_tokens for sequence in request.sequences)
        with self._lock:  # so that nothing is put into the inbox after it was emptied for good
            if is_admitted:
                self.require_running()
            else:
                self.require_room(len(request.sequences), num_tokens)
            self.backlog.enter(request.sequences)
            self._inbox.put(request)

    def _unready(self, name: str | None = None) -> NotReady:
        if self._is_draining:
            return Draining("the server is about to stop and takes no more work")
        subject = f"the engine of {name}" if name else "the engine"
        return NotReady(f"{subject} is not running; try again later")

    def _new_crank(self) -> Crank:
        scheduler = Scheduler(self._limits.max_prefill_tokens)
        return Crank(self._runner, scheduler, self.backlog, self._metrics)

    def _run(self) -> None:
        """The thread: turn the crank until told to stop; if it breaks, get a new one."""
        is_stopped = False
        while not is_stopped:
            try:
                self._turn_until_stopped()
                is_stopped = True
            except Exception:
                _logger.exception("the engine died")
            self._abandon_everything()
            is_stopped = is_stopped or not self._rebuild()

    def _turn_until_stopped(self) -> None:
        while self._take_messages():
            self._crank.turn()
            self._tell(self._crank.take_news())

    def _take_messages(self) -> bool:
        """Take everything from the inbox, waiting for it if there is nothing to do; False: stop."""
        is_idle = self._crank.is_idle
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._inbox.get(block=is_idle)
                is_idle = False
                if isinstance(message, _Stop):
                    return False
                self._take(message)
        return True

    def _take(self, message: Request | _Cancel | _Expire) -> None:
        match message:
            case _Cancel(request):
                self._crank.cancel(request)
            case _Expire(request):
                self._crank.expire(request)
            case Request():
                self._crank.add(message)

    def _abandon_everything(self) -> None:
        with self._lock:
            self._is_running = False
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._inbox.get_nowait()
                if isinstance(message, Request):
                    self._crank.add(message)
                if isinstance(message, _Stop):
                    self._inbox.put(message)
                    break
        self._crank.abandon(self._unready())
        self._tell(self._crank.take_news())

    def _rebuild(self) -> bool:
        """A new runner, as soon as one can be had; False if told to stop before that."""
        for attempt in itertools.count():
            if self._is_told_to_stop(_REBUILD_SECONDS[min(attempt, len(_REBUILD_SECONDS) - 1)]):
                return False
            try:
                self._runner = self._make_runner()
            except Exception:
                _logger.exception("the engine could not be rebuilt")
                continue
            self._crank = self._new_crank()
            self._metrics.engine_restarts.inc()
            self._is_running = True
            return True
        raise AssertionError

    def _is_told_to_stop(self, within_seconds: float) -> bool:
        with contextlib.suppress(queue.Empty):
            while not isinstance(self._inbox.get(timeout=within_seconds), _Stop):
                pass
            return True
        return False

    def _tell(self, news: News) -> None:
        if news and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
                self._loop.call_soon_threadsafe(_deliver, news)


def _deliver(news: News) -> None:
    """On the event loop: everything that one turn brought."""
    for request, update in news:
        request.receive(update)
