"""One sentence being translated, and the request that it belongs to: the only mutable records.

The engine's thread alone changes a sequence; the event loop alone changes a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from model.decoding.sentence import Hypothesis, SourceSentence
from service.errors import ServiceError


@dataclass(frozen=True)
class SentenceTimes:
    """Where one sentence's seconds went: waiting for a slot, in its encoder pass (shared with those
    admitted together), and from there to its end. It `arrived` at that monotonic time."""

    arrived: float
    queue: float
    encode: float
    decode: float


@dataclass(frozen=True)
class SentenceOutcome:
    """How a sentence ended: hypotheses, best first, or an error and none; `times` if it ran."""

    hypotheses: Sequence[Hypothesis]
    error: ServiceError | None = None
    times: SentenceTimes | None = None


@dataclass(frozen=True)
class Update:
    """News of one sentence of a streamed request: newly settled target ids, or how it ended."""

    index: int
    ids: Sequence[int] = ()
    outcome: SentenceOutcome | None = None


@dataclass(eq=False)
class SentenceTask:
    """One sentence; waits until it has a handle, runs until it has an outcome."""

    sentence: SourceSentence
    request: EngineRequest
    index: int
    handle: int | None = None
    outcome: SentenceOutcome | None = None
    admitted_seconds: float = 0.0
    encode_seconds: float = 0.0

    @property
    def num_rows(self) -> int:
        return self.sentence.options.beam_size

    @property
    def num_tokens(self) -> int:
        return len(self.sentence.ids)

    @property
    def rank(self) -> int:
        """Its place among its request's, lowest first: the longest ones, so that none of them is
        left to run alone at the end; what is streamed keeps its order."""
        return 0 if self.sentence.is_streamed else -self.num_tokens

    def times(self, ended_seconds: float) -> SentenceTimes:
        """Of a sentence that was admitted and has ended."""
        return SentenceTimes(
            arrived=self.request.arrived_seconds,
            queue=self.admitted_seconds - self.request.arrived_seconds,
            encode=self.encode_seconds,
            decode=ended_seconds - self.admitted_seconds - self.encode_seconds,
        )


@dataclass(eq=False)
class EngineRequest:
    """All sentences of one call; done when each has its outcome. Times are monotonic seconds.

    `_pending_updates` holds at most one update for each target token and one for each sentence,
    however slow the reader is.
    """

    future: asyncio.Future[list[SentenceOutcome]]
    arrived_seconds: float
    tasks: list[SentenceTask] = field(default_factory=list)
    num_unsettled: int = 0
    _pending_updates: asyncio.Queue[Update] = field(default_factory=asyncio.Queue)

    def add(self, sentences: Sequence[SourceSentence]) -> None:
        self.tasks += [SentenceTask(s, self, index) for index, s in enumerate(sentences)]
        self.num_unsettled = len(self.tasks)

    def receive(self, update: Update) -> None:
        """On the event loop: keep the news, and end the request with its last outcome."""
        self._pending_updates.put_nowait(update)
        self.num_unsettled -= update.outcome is not None
        if not self.num_unsettled and not self.future.done():
            self.future.set_result([task.outcome for task in self.tasks if task.outcome])

    async def updates(self) -> AsyncGenerator[Update]:
        """What happens to the sentences, until each has its outcome."""
        num_open = len(self.tasks)
        while num_open:
            update = await self._pending_updates.get()
            num_open -= update.outcome is not None
            yield update
