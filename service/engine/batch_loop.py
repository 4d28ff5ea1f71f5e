"""What the engine's thread does: admit, step, settle. Only that thread may touch a crank."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from collections.abc import Sequence as Items

from model.decoding.sentence import Finished
from service.engine.admission import Backlog
from service.engine.interfaces import Runner
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import Outcome, Request, Sequence, Update
from service.engine.step_policy import Turns
from service.errors import DeadlineExceeded, Draining, ServiceError, TranslationFailed
from service.observability.metrics import ModelMetrics

_logger = logging.getLogger(__name__)
News = list[tuple[Request, Update]]


class Crank:
    """One runner, the sequences that run on it, and those that wait for it.

    A sequence is open from `add` until it is settled or cancelled. Whatever else breaks, that
    record stays right, so that `abandon` answers all that is left.
    """

    def __init__(
        self, runner: Runner, scheduler: Scheduler, backlog: Backlog, metrics: ModelMetrics
    ) -> None:
        self._runner, self._scheduler = runner, scheduler
        self._backlog, self._metrics = backlog, metrics
        self._open: set[Sequence] = set()
        self._running: dict[int, Sequence] = {}
        self._turns = Turns()
        self._fresh: list[Sequence] = []
        self._last_step_seconds = self._last_whole_step_seconds = 0.0
        self._news: News = []

    @property
    def is_idle(self) -> bool:
        return not self._running and not self._scheduler

    @property
    def num_running(self) -> int:
        return len(self._running)

    def add(self, sequences: Items[Sequence]) -> None:
        """Let the sequences wait for their turn."""
        self._open.update(sequences)
        self._scheduler.add(sequences)

    def cancel(self, request: Request) -> None:
        """Nobody waits for the request any more."""
        cancelled = self._open.intersection(request.sequences)
        self._close(cancelled)
        self._take_out(request, cancelled)
        for _ in cancelled:
            self._metrics.count_sequence("cancelled")
            self._metrics.count_cancelled("client")

    def expire(self, request: Request) -> None:
        """The request's deadline is over: what is not done of it ends here."""
        waited_ms = (time.monotonic() - request.arrived_seconds) * 1000
        error = DeadlineExceeded(f"not done after {waited_ms:.0f} ms, when its deadline was over")
        expired = self._open.intersection(request.sequences)
        self._fail(expired, error, "deadline")
        self._take_out(request, expired)
        self._metrics.count_cancelled("deadline", len(expired))

    @property
    def num_rows(self) -> int:
        """Hypotheses of the running sentences."""
        return self._turns.num_rows

    def turn(self, num_at_work: int) -> None:
        """Admit what fits, decode one token of whoever's turn it is, settle what has ended. So many
        runners share the cores now."""
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

    def abandon(self, error: ServiceError, newcomers: Items[Sequence]) -> None:
        """Answer all that is left with an error, and those who have just come. Anything else may be
        broken: trust it no more."""
        left = [*self._open, *newcomers]
        self._running.clear()
        self._turns = Turns()
        for sequence in left:
            self._answer(sequence, Outcome([], error))
        try:
            self._count_abandoned(len(left), error)
        except Exception:
            _logger.exception("%d abandoned sentences could not be counted", len(left))

    def take_news(self) -> News:
        """What has happened since the last call."""
        news, self._news = self._news, []
        return news

    def _take_out(self, request: Request, sequences: Iterable[Sequence]) -> None:
        """Take the request's sequences, which are not open any more, out of the batch and of the
        line."""
        self._scheduler.remove(request)
        for sequence in sequences:
            self._release(sequence)

    def _count_abandoned(self, count: int, error: ServiceError) -> None:
        if isinstance(error, Draining):
            self._metrics.count_cancelled("drain", count)
        for _ in range(count):
            self._metrics.count_sequence("error")

    def _fail(self, sequences: Iterable[Sequence], error: ServiceError, reason: str) -> None:
        for sequence in sequences:
            self._settle(sequence, Outcome([], error), reason)

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
        self._backlog.leave(sequences)
        encode_seconds = time.monotonic() - started
        self._metrics.encode_seconds.observe(encode_seconds)
        self._fresh += sequences
        for sequence, handle in zip(sequences, handles, strict=True):
            sequence.handle = handle
            sequence.admitted_seconds, sequence.encode_seconds = started, encode_seconds
            self._running[handle] = sequence
            self._turns.enter(sequence)
            self._metrics.queue_wait_seconds.observe(started - sequence.request.arrived_seconds)
            self._metrics.count_source_tokens(sequence.num_tokens)

    def _refuse(self, sequence: Sequence, error: Exception) -> None:
        _logger.warning("the runner refused a sentence: %s", type(error).__name__)
        reason = str(error) if isinstance(error, ValueError) else "the model failed"
        self._fail([sequence], _failed(reason), "error")

    def _decode(self) -> Items[Finished]:
        started = time.monotonic()
        taken = self._turns.take(self._runner.can_leave_out and not self._scheduler)
        num_rows = self._runner.max_rows - self._runner.num_free_rows
        if taken is not None:
            num_rows = sum(sequence.num_rows for sequence in taken)
        self._metrics.step_rows.observe(num_rows)
        try:
            result = self._runner.step(_handles(taken))
        except Exception:
            _logger.exception("a step failed with %d sentences running", len(self._running))
            self._fail_running()
            return []
        self._observe_step(started, time.monotonic(), is_of_all=taken is None)
        for handle, ids in result.streamed.items():
            sequence = self._running[handle]
            self._news.append((sequence.request, Update(sequence.index, ids)))
        return result.finished

    def _fail_running(self) -> None:
        self._fresh.clear()
        for sequence in list(self._running.values()):
            self._fail([sequence], _failed("the model failed"), "error")
            self._release(sequence)

    def _observe_step(self, started: float, ended: float, is_of_all: bool) -> None:
        """Those left out of the steps between waited since the last one of all."""
        self._metrics.decode_step_seconds.observe(ended - started)
        if len(self._running) > len(self._fresh):
            last = self._last_whole_step_seconds if is_of_all else self._last_step_seconds
            self._metrics.inter_token_seconds.observe(ended - last)
        for sequence in self._fresh:
            arrived = sequence.request.arrived_seconds
            self._metrics.time_to_first_token_seconds.observe(ended - arrived)
        self._fresh.clear()
        self._last_step_seconds = ended
        if is_of_all:
            self._last_whole_step_seconds = ended

    def _settle_finished(self, finished: Items[Finished]) -> None:
        ended = time.monotonic()
        for result in finished:
            sequence = self._leave(result.handle)
            if result.error is not None:
                self._fail([sequence], _failed(result.error), "error")
                continue
            best = result.hypotheses[0]
            self._metrics.count_target_tokens(len(best.log_probs))
            outcome = Outcome(result.hypotheses, times=sequence.times(ended))
            self._settle(sequence, outcome, best.finish_reason)

    def _settle(self, sequence: Sequence, outcome: Outcome, reason: str) -> None:
        self._answer(sequence, outcome)
        self._metrics.count_sequence(reason)

    def _answer(self, sequence: Sequence, outcome: Outcome) -> None:
        sequence.outcome = outcome
        self._news.append((sequence.request, Update(sequence.index, outcome=outcome)))
        self._close([sequence])

    def _close(self, sequences: Collection[Sequence]) -> None:
        """They need no answer any more, and do not wait."""
        self._open.difference_update(sequences)
        self._backlog.leave(sequences)

    def _release(self, sequence: Sequence) -> None:
        if sequence.handle in self._running:
            self._leave(sequence.handle)
            self._runner.release(sequence.handle)

    def _leave(self, handle: int) -> Sequence:
        sequence = self._running.pop(handle)
        self._turns.leave(sequence)
        return sequence


def _handles(sequences: list[Sequence] | None) -> list[int] | None:
    """Of running sequences; None stays None."""
    if sequences is None:
        return None
    return [sequence.handle for sequence in sequences if sequence.handle is not None]


def _failed(reason: str) -> TranslationFailed:
    return TranslationFailed(f"a sentence could not be translated: {reason}")
