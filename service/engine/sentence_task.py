"""A sentence task, the requests that wait for it, and its outcome.

Only the worker's thread changes what runs; only the event loop changes requests and waiters.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.ticket import NO_TICKET, Ticket
from service.errors import ServiceError

_SHORT_WORK = 64
"""Work of the most urgent level; the next one ends at four times as much, and so on."""


@dataclass(frozen=True)
class SentenceOutcome:
    """A sentence's result: hypotheses, best first; or an error and no hypotheses.

    Monotonic seconds at which it arrived, joined the batch, was encoded (in one pass with those
    admitted together) and ended. `work`: its source tokens and, for each row of its beam, its
    steps; 0 from the cache.
    """

    hypotheses: Sequence[Hypothesis]
    error: ServiceError | None = None
    arrived: float = 0.0
    admitted: float = 0.0
    encoded: float = 0.0
    ended: float = 0.0
    work: int = 0

    @property
    def queue(self) -> float:
        """Seconds of waiting for a slot. A request that joined later waited less."""
        return max(0.0, self.admitted - self.arrived)

    @property
    def encode(self) -> float:
        """Seconds in the encoder."""
        return max(0.0, self.encoded - max(self.admitted, self.arrived))

    @property
    def decode(self) -> float:
        """Seconds in the decoder."""
        return self.ended - max(self.encoded, self.arrived)


class SentenceKey(NamedTuple):
    """All that a model's translation of a sentence depends on. A sample depends on the seed, which
    is one of the options. A tuple, because it is made and hashed for each sentence."""

    ids: tuple[int, ...]
    options: DecodingOptions
    prefix: tuple[int, ...]
    is_aligned: bool
    is_cut: bool


News = Sequence[int] | SentenceOutcome
"""Newly settled target ids of a sentence, or its outcome."""


@dataclass(frozen=True)
class Update:
    """News of one sentence of a request."""

    index: int
    ids: Sequence[int] = ()
    outcome: SentenceOutcome | None = None


@dataclass(frozen=True)
class Waiter:
    """A request that waits for its sentence of this index; `is_streamed`: also for its tokens."""

    request: EngineRequest
    index: int
    is_streamed: bool


@dataclass(eq=False)
class SentenceTask:
    """One sentence that a worker computes. It waits until it has a handle, and runs until it has an
    outcome."""

    sentence: SourceSentence
    request: EngineRequest
    """The first that wanted it."""
    key: SentenceKey | None = None
    """What equal sentences have in common; None: the task is not shared."""
    waiters: list[Waiter] = field(default_factory=list)
    settled_ids: list[int] = field(default_factory=list)
    handle: int | None = None
    admitted_seconds: float = 0.0
    encoded_seconds: float = 0.0
    stepped_seconds: float = 0.0
    num_steps: int = 0
    """Of steps that leave tasks out."""
    most_work: int = 0
    """What it may need, as `most_work` of the sentence; counted while it waits."""
    is_streamed: bool = field(init=False)
    """Whether the runner was asked for its tokens."""
    request_work: int = field(init=False)
    level: int = field(init=False)
    num_rows: int = field(init=False)
    num_tokens: int = field(init=False)
    """Of the source. All are read at each step, so they are stored."""

    def __post_init__(self) -> None:
        self.is_streamed = self.sentence.is_streamed
        self.num_rows = self.sentence.options.beam_size
        self.num_tokens = len(self.sentence.ids)
        self.request_work = self.request.expected_work
        self._set_level()

    @property
    def rank(self) -> int:
        """Order within the request, lowest first. Long sentences go first, so they do not run
        alone at the end; streamed sentences keep their order."""
        return 0 if self.sentence.is_streamed else -self.num_tokens

    def count_step(self) -> None:
        """Count a step; a task with more work than its request expected becomes less urgent."""
        self.num_steps += 1
        self._set_level()

    def join(self, waiter: Waiter) -> None:
        """Publish to this waiter too, also what was streamed until now. The task becomes as urgent
        as the request (priority inheritance, Sha et al. 1990). Runs on the event loop."""
        self.waiters.append(waiter)
        waiter.request.tasks[self] = None
        self.request_work = min(self.request_work, waiter.request.expected_work)
        self._set_level()
        if waiter.is_streamed and self.settled_ids:
            waiter.request.receive(Update(waiter.index, tuple(self.settled_ids)))

    def publish(self, news: News) -> None:
        """Pass the news on to all waiters that want it. Runs on the event loop."""
        if not isinstance(news, SentenceOutcome):
            self.settled_ids += news
            for waiter in self.waiters:
                if waiter.is_streamed:
                    waiter.request.receive(Update(waiter.index, news))
            return
        for waiter in self.waiters:
            waiter.request.tasks.pop(self, None)
            outcome = replace(news, arrived=waiter.request.arrived_seconds)
            waiter.request.receive(Update(waiter.index, outcome=outcome))
        self.waiters.clear()

    def _set_level(self) -> None:
        """The logarithm of the work of the whole request, or of what the task has had if that is
        more."""
        attained = self.num_tokens + self.num_rows * self.num_steps
        self.level = level_of(max(attained, self.request_work)) if self.request_work else 0


@dataclass(eq=False)
class EngineRequest:
    """All sentences of one call; done when each has its outcome. Times are monotonic seconds.

    `_updates` holds at most one update per target token and one per sentence, even if the reader is
    slow.
    """

    future: asyncio.Future[list[SentenceOutcome]]
    arrived_seconds: float
    num_sentences: int
    expected_work: int = 0
    """Of all sentences, and the work that the request had before; 0 makes all requests equally
    urgent."""
    ticket: Ticket = NO_TICKET
    """An outcome that comes after its deadline is one of a sentence that is not done in time."""
    tasks: dict[SentenceTask, None] = field(default_factory=dict)
    """Those that it waits for, in order."""
    _updates: asyncio.Queue[Update] = field(default_factory=asyncio.Queue)
    _outcomes: dict[int, SentenceOutcome] = field(default_factory=dict)

    def fail(self, error: ServiceError) -> None:
        """Give the error to each sentence without an outcome. Runs on the event loop."""
        for index in range(self.num_sentences):
            self.receive(Update(index, outcome=SentenceOutcome([], error)))

    def receive(self, update: Update) -> None:
        """Queue the update; resolve the future on the last outcome. Ignore it if its sentence has
        an outcome. Runs on the event loop."""
        if update.index in self._outcomes:
            return
        if update.outcome and not update.outcome.error and self.ticket.is_over:
            update = Update(update.index, outcome=SentenceOutcome([], self.ticket.deadline_error()))
        self._updates.put_nowait(update)
        if update.outcome is not None:
            self._outcomes[update.index] = update.outcome
        if len(self._outcomes) == self.num_sentences and not self.future.done():
            self.future.set_result([self._outcomes[index] for index in range(self.num_sentences)])

    async def updates(self) -> AsyncGenerator[Update]:
        """Yield updates until each sentence has its outcome."""
        num_open = self.num_sentences
        while num_open:
            update = await self._updates.get()
            num_open -= update.outcome is not None
            yield update


def expected_work(sentence: SourceSentence) -> int:
    """Tokens to encode and to decode over all rows, if the translation is as long as the source."""
    num_tokens = len(sentence.ids)
    limit = sentence.options.target_limit(num_tokens)
    num_steps = min(max(num_tokens, len(sentence.prefix) + 1), limit)
    return num_tokens + sentence.options.beam_size * num_steps


def most_work(sentence: SourceSentence, max_target_tokens: int) -> int:
    """Tokens to encode and to decode over all rows, if the translation ends at its limit."""
    num_steps = sentence.target_limit(max_target_tokens)
    return len(sentence.ids) + sentence.options.beam_size * num_steps


def level_of(work: int) -> int:
    """Urgency, 0 first: the logarithm of the work."""
    return ((work // _SHORT_WORK).bit_length() + 1) // 2
