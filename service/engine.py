"""The thread that turns the crank: asyncio on one side, the runner on the other.

Only this thread touches the runner and the scheduler. The event loop talks to it through one
queue, and is woken at most once a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from collections.abc import Sequence as Items
from dataclasses import dataclass

from model.sentence import Finished, SourceSentence
from service.errors import InvalidField, NotReady, Overloaded
from service.metrics import Metrics
from service.scheduler import Scheduler
from service.seam import Runner
from service.sequence import Outcome, Request, Sequence, Update

_logger = logging.getLogger(__name__)
_STEP_FAILED = "the model failed while it translated this sentence"
_STOPPED = "the server stopped before this sentence was translated"


@dataclass(frozen=True)
class _Stop:
    """The last message: leave the loop."""


@dataclass(frozen=True)
class _Cancel:
    request: Request


class Engine:
    """Translates sentences of many requests together; any number of coroutines may call it."""

    def __init__(self, runner: Runner, metrics: Metrics, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self._runner, self._metrics = runner, metrics
        self._scheduler = Scheduler()
        self._running: dict[int, Sequence] = {}
        self._fresh: list[Sequence] = []
        self._last_step_seconds = 0.0
        self._done: list[Request] = []
        self._news: list[tuple[Request, Update]] = []
        self._inbox: queue.SimpleQueue[Request | _Cancel | _Stop] = queue.SimpleQueue()
        self.num_waiting = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_ready = False

    @property
    def num_running(self) -> int:
        return len(self._running)

    def start(self) -> None:
        """Start the thread; futures are resolved on the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="dragoman-engine", daemon=True)
        self.is_ready = True
        self._thread.start()

    def stop(self) -> None:
        """Abandon what runs and waits, with an error, and join the thread."""
        self.is_ready = False
        self._inbox.put(_Stop())
        if self._thread is not None:
            self._thread.join()

    def require_room(self, num_sentences: int) -> None:
        """Raise Overloaded or NotReady unless this many sentences may wait."""
        if not self.is_ready:
            raise NotReady("the engine is not running; try again later")
        if self.num_waiting + num_sentences > self.max_waiting:
            raise Overloaded(
                f"{self.num_waiting} sentences are waiting, and of the {num_sentences} more "
                f"not all fit: at most {self.max_waiting} may wait; try again later"
            )

    async def translate(self, sentences: Items[SourceSentence]) -> list[Outcome]:
        """One outcome a sentence, in order. Cancelling the call frees its slots by the next step.

        Raises Overloaded, NotReady, and InvalidField for a beam that can never fit.
        """
        with self._begun(sentences) as request:
            return await request.future if sentences else []

    @contextlib.asynccontextmanager
    async def stream(
        self, sentences: Items[SourceSentence]
    ) -> AsyncGenerator[AsyncIterator[Update]]:
        """Updates of the sentences as they are made; leaving the block frees their slots.

        Sentences are streamed as far as they ask for it (`is_streamed`). Raises as `translate`.
        """
        with self._begun(sentences) as request:
            yield request.updates()

    @contextlib.contextmanager
    def _begun(self, sentences: Items[SourceSentence]) -> Generator[Request]:
        """A submitted request; if the block is left before it is done, it is cancelled."""
        self.require_room(len(sentences))
        widest = max((sentence.options.beam_size for sentence in sentences), default=1)
        if widest > self._runner.max_beam_size:
            raise InvalidField(
                f"beam_size must be at most {self._runner.max_beam_size}, got {widest}"
            )
        request = Request(asyncio.get_running_loop().create_future(), time.monotonic())
        request.add(sentences)
        if sentences:
            self._submit(request)
        try:
            yield request
        finally:
            if sentences and not (request.future.done() and not request.future.cancelled()):
                self._inbox.put(_Cancel(request))

    def _submit(self, request: Request) -> None:
        with self._lock:  # so that nothing is put into the inbox after it was emptied for good
            if not self.is_ready:
                raise NotReady("the engine is not running; try again later")
            self.num_waiting += len(request.sequences)
            self._inbox.put(request)

    def _run(self) -> None:
        try:
            while self._take_messages():
                self._step()
        except Exception:
            _logger.exception("the engine died")
        finally:
            with self._lock:
                self.is_ready = False
            self._abandon_everything()

    def _step(self) -> None:
        """One turn: admit what fits, decode one token everywhere, settle what has ended."""
        self._admit(self._scheduler.take(self._runner.num_free_slots, self._runner.num_free_rows))
        if self._running:
            self._settle_finished(self._decode())
        elif self._scheduler:
            raise RuntimeError("nothing runs and yet the runner has no room")
        self._wake_event_loop()

    def _take_messages(self) -> bool:
        """Take everything from the inbox, waiting for it if there is nothing to do; False: stop."""
        is_idle = not self._running and not self._scheduler
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._inbox.get(block=is_idle)
                is_idle = False
                if isinstance(message, _Stop):
                    return False
                if isinstance(message, _Cancel):
                    self._cancel(message.request)
                else:
                    self._scheduler.add(message.sequences)
        return True

    def _cancel(self, request: Request) -> None:
        removed = self._scheduler.remove(request)
        self._add_waiting(-len(removed))
        running = [seq for seq in self._running.values() if seq.request is request]
        for sequence in running:
            self._release(sequence)
        for _ in range(len(removed) + len(running)):
            self._metrics.count_sequence("cancelled")

    def _admit(self, sequences: list[Sequence]) -> None:
        """Take sequences into the batch; if the runner refuses them, find out which one."""
        if not sequences:
            return
        started = time.monotonic()
        try:
            handles = self._runner.admit([seq.sentence for seq in sequences])
        except Exception as error:
            if len(sequences) > 1:
                for sequence in sequences:
                    self._admit([sequence])
            else:
                self._refuse(sequences[0], error)
            return
        self._add_waiting(-len(sequences))
        self._metrics.encode_seconds.observe(time.monotonic() - started)
        self._fresh += sequences
        for sequence, handle in zip(sequences, handles, strict=True):
            sequence.handle = handle
            self._running[handle] = sequence
            self._metrics.queue_wait_seconds.observe(started - sequence.request.arrived_seconds)
            self._metrics.source_tokens.inc(len(sequence.sentence.ids))

    def _refuse(self, sequence: Sequence, error: Exception) -> None:
        _logger.warning("the runner refused a sentence: %s", type(error).__name__)
        self._add_waiting(-1)
        reason = str(error) if isinstance(error, ValueError) else _STEP_FAILED
        self._settle(sequence, Outcome([], reason))

    def _decode(self) -> Items[Finished]:
        started = time.monotonic()
        try:
            result = self._runner.step()
        except Exception:
            _logger.exception("a step failed with %d sentences running", len(self._running))
            self._fresh.clear()
            for sequence in list(self._running.values()):
                self._settle(sequence, Outcome([], _STEP_FAILED))
                self._release(sequence)
            return []
        self._observe_step(started, time.monotonic())
        for handle, ids in result.streamed.items():
            sequence = self._running[handle]
            self._news.append((sequence.request, Update(sequence.index, ids)))
        return result.finished

    def _observe_step(self, started: float, ended: float) -> None:
        self._metrics.decode_step_seconds.observe(ended - started)
        if len(self._running) > len(self._fresh):
            self._metrics.inter_token_seconds.observe(ended - self._last_step_seconds)
        for sequence in self._fresh:
            arrived = sequence.request.arrived_seconds
            self._metrics.time_to_first_token_seconds.observe(ended - arrived)
        self._fresh.clear()
        self._last_step_seconds = ended

    def _settle_finished(self, finished: Items[Finished]) -> None:
        for result in finished:
            sequence = self._running.pop(result.handle)
            self._settle(sequence, Outcome(result.hypotheses, result.error))

    def _settle(self, sequence: Sequence, outcome: Outcome) -> None:
        request = sequence.request
        sequence.outcome = outcome
        self._news.append((request, Update(sequence.index, outcome=outcome)))
        best = outcome.hypotheses[0] if outcome.hypotheses else None
        self._metrics.count_sequence(best.finish_reason if best else "error")
        if best:
            self._metrics.target_tokens.inc(len(best.log_probs))
        request.num_unsettled -= 1
        if request.num_unsettled == 0:
            self._done.append(request)

    def _release(self, sequence: Sequence) -> None:
        if sequence.handle in self._running:
            del self._running[sequence.handle]
            self._runner.release(sequence.handle)

    def _abandon_everything(self) -> None:
        """Answer all that is left with an error; the runner may be broken, so trust it no more."""
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._inbox.get_nowait()
                if isinstance(message, Request):
                    self._scheduler.add(message.sequences)
        left = [*self._running.values(), *self._scheduler.drain()]
        for sequence in list(self._running.values()):
            with contextlib.suppress(Exception):
                self._release(sequence)
        self._running.clear()
        for sequence in left:
            self._settle(sequence, Outcome([], _STOPPED))
        self._wake_event_loop()

    def _wake_event_loop(self) -> None:
        news, self._news = self._news, []
        done, self._done = self._done, []
        if news and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
                self._loop.call_soon_threadsafe(_deliver, news, done)

    def _add_waiting(self, change: int) -> None:
        with self._lock:
            self.num_waiting += change


def _deliver(news: Items[tuple[Request, Update]], done: Items[Request]) -> None:
    """On the event loop: everything that one step brought."""
    for request, update in news:
        request.news.put_nowait(update)
    for request in done:
        if not request.future.done():
            request.future.set_result(request.outcomes())
