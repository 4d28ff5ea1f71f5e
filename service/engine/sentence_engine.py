"""What translation asks of an engine, in this process or in others: sentences in, outcomes out."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from model.decoding.sentence import SourceSentence
from service.engine.sentence_task import (
    CancelReason,
    EngineRequest,
    SentenceOutcome,
    expected_work,
    most_work,
)
from service.engine.ticket import NO_TICKET, Ticket
from service.errors import InvalidField, ServiceError

SUBMITTED_AT_ONCE = 1000
"""Sentences of a request that are submitted in one iteration of the event loop: 10 ms."""


@dataclass(frozen=True)
class Update:
    """News of one sentence of a request."""

    index: int
    ids: Sequence[int] = ()
    outcome: SentenceOutcome | None = None


class AwaitedRequest(EngineRequest):
    """A request whose caller is in this process; done when each sentence has its outcome."""

    def __init__(
        self,
        future: asyncio.Future[list[SentenceOutcome]],
        arrived_seconds: float,
        num_sentences: int,
        expected_work: int = 0,
        ticket: Ticket = NO_TICKET,
        updates: asyncio.Queue[Update] | None = None,
    ) -> None:
        """`updates` gets at most one update per target token and one per sentence, even if the
        reader is slow; None: nobody reads them."""
        self.arrived_seconds, self.expected_work = arrived_seconds, expected_work
        self.ticket, self.tasks = ticket, {}
        self.future = future
        self.timer: asyncio.TimerHandle | None = None
        """Of its deadline."""
        self.asks_for_room = updates is not None or num_sentences > SUBMITTED_AT_ONCE
        """Whether its caller waits until it is known that it has room, before anything else."""
        self.shares = dict[Any, Any]()
        """What other processes compute of it, by process."""
        self._outcomes: list[SentenceOutcome | None] = [None] * num_sentences
        self._num_open, self._updates = num_sentences, updates

    def refuse(self, error: ServiceError) -> None:
        """Raise the error for who awaits the outcomes."""
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # nobody may await it any more

    def fail(self, error: ServiceError) -> None:
        """Give the error to each sentence without an outcome."""
        for index in range(len(self._outcomes)):
            self.end(index, SentenceOutcome([], error))

    def receive(self, index: int, ids: Sequence[int]) -> None:
        """Queue ids of a sentence that has no outcome."""
        if self._updates is not None and self._outcomes[index] is None:
            self._updates.put_nowait(Update(index, ids))

    def end(self, index: int, outcome: SentenceOutcome) -> None:
        """Note the outcome of a sentence that has none, and resolve the future on the last one. A
        result that comes after the deadline is one of a sentence that is not done in time."""
        if self._outcomes[index] is not None:
            return
        if self.ticket.ends_seconds is not None and self.ticket.is_over and not outcome.error:
            outcome = SentenceOutcome([], self.ticket.deadline_error())
        self._outcomes[index] = outcome
        self._num_open -= 1
        if self._updates is not None:
            self._updates.put_nowait(Update(index, outcome=outcome))
        if not self._num_open and not self.future.done():
            self.future.set_result([one for one in self._outcomes if one is not None])

    async def updates(self) -> AsyncGenerator[Update]:
        """Yield updates until each sentence has its outcome."""
        assert self._updates is not None
        num_open = len(self._outcomes)
        while num_open:
            update = await self._updates.get()
            num_open -= update.outcome is not None
            yield update


class Room(NamedTuple):
    """Sentences, and the tokens that they may need at most."""

    num_sentences: int = 0
    num_tokens: int = 0

    @classmethod
    def of(cls, sentences: Sequence[SourceSentence], max_target_tokens: int) -> Room:
        return cls(len(sentences), sum(most_work(one, max_target_tokens) for one in sentences))


NO_ROOM = Room()


class SentenceEngine(ABC):
    """Translates sentences of many requests together; any number of coroutines may call it."""

    max_beam_size: int
    max_target_tokens: int

    @abstractmethod
    def require_running(self) -> None:
        """Raise NotReady or Draining unless admitted work can continue."""

    @abstractmethod
    def require_room(self, num_sentences: int, num_tokens: int = 0, client: str = "") -> None:
        """Raise NotReady, Draining or Overloaded unless this much of a client may wait."""

    @abstractmethod
    def submit(
        self,
        request: AwaitedRequest,
        first: int,
        sentences: Sequence[SourceSentence],
        rest: Room | None = NO_ROOM,
    ) -> None:
        """Start a part of a request, whose first sentence has the index `first`, if it has room
        together with the `rest` that comes behind it; None: it has, because another part asked.
        Raises as `translate`."""

    @abstractmethod
    def cancel(self, request: AwaitedRequest, reason: CancelReason) -> None:
        """Cancel what is not done."""

    @abstractmethod
    async def require_accepted(self, request: AwaitedRequest) -> None:
        """Wait until it is known that what was submitted is accepted, else raise as `translate`."""

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
            if request.asks_for_room:
                await self._submit_all(request, sentences)
            else:
                self.submit(request, 0, sentences)
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
            await self._submit_all(request, sentences)
            yield request.updates()
        finally:
            self._end(request)

    def _request(
        self,
        sentences: Sequence[SourceSentence],
        ticket: Ticket,
        updates: asyncio.Queue[Update] | None = None,
    ) -> AwaitedRequest:
        """A request that ends at its deadline. Raises InvalidField."""
        widest = max((sentence.options.beam_size for sentence in sentences), default=1)
        if widest > self.max_beam_size:
            raise InvalidField(f"beam_size must be at most {self.max_beam_size}, got {widest}")
        work = ticket.prior_work + sum(map(expected_work, sentences))
        loop, arrived = asyncio.get_running_loop(), time.monotonic()
        count, future = len(sentences), loop.create_future()
        request = AwaitedRequest(future, arrived, count, work, ticket, updates)
        if ticket.ends_seconds is not None:
            request.timer = loop.call_at(ticket.ends_seconds, self._expire, request)
        return request

    async def _submit_all(
        self, request: AwaitedRequest, sentences: Sequence[SourceSentence]
    ) -> None:
        """Submit in parts, one in each iteration of the event loop."""
        rest = sentences[SUBMITTED_AT_ONCE:]
        room: Room | None = Room.of(rest, self.max_target_tokens) if rest else NO_ROOM
        for first in range(0, len(sentences) or 1, SUBMITTED_AT_ONCE):
            if first:
                await asyncio.sleep(0)
            if request.future.done():  # its deadline has passed
                return
            self.submit(request, first, sentences[first : first + SUBMITTED_AT_ONCE], room)
            room = None
            await self.require_accepted(request)

    def _end(self, request: AwaitedRequest) -> None:
        """Cancel what is not done."""
        if request.timer is not None:
            request.timer.cancel()
        if request.tasks or request.shares:
            self.cancel(request, "client")

    def _expire(self, request: AwaitedRequest) -> None:
        request.fail(request.ticket.deadline_error())
        self.cancel(request, "deadline")
