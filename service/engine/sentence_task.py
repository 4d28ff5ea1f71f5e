"""A sentence task and its request, the only mutable records.

Only the worker's thread changes a task; only the event loop changes a request.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from model.decoding.sentence import Hypothesis, SourceSentence
from service.errors import DeadlineExceeded, ServiceError

_FREED_AT_ONCE = 500
SHORT_WORK = 64
"""Work of the most urgent level; each further level is twice as wide."""


@dataclass(frozen=True)
class SentenceTimes:
    """Seconds that a sentence waited for a slot, was encoded (in one pass with the tasks admitted
    together) and was decoded. `arrived` is a monotonic time."""

    arrived: float
    queue: float
    encode: float
    decode: float


@dataclass(frozen=True)
class SentenceOutcome:
    """A sentence's result: hypotheses, best first, and `times`; or an error and no hypotheses.
    `work`: its source tokens and, for each row of its beam, its steps; 0 from the cache."""

    hypotheses: Sequence[Hypothesis]
    error: ServiceError | None = None
    times: SentenceTimes | None = None
    work: int = 0


@dataclass(frozen=True)
class Update:
    """An update of one sentence: newly settled target ids, or its outcome."""

    index: int
    ids: Sequence[int] = ()
    outcome: SentenceOutcome | None = None


@dataclass(eq=False)
class SentenceTask:
    """One sentence. It waits until it has a handle, and runs until it has an outcome."""

    sentence: SourceSentence
    request: EngineRequest
    index: int
    handle: int | None = None
    outcome: SentenceOutcome | None = None
    admitted_seconds: float = 0.0
    encode_seconds: float = 0.0
    publish: Callable[[Update], None] | None = None
    """Receives the updates on the event loop; None: the request."""
    inherited_work: int | None = None
    stepped_seconds: float = 0.0
    num_steps: int = 0
    num_rows: int = field(init=False)
    num_tokens: int = field(init=False)
    """Of the source. Both are read at each step, so they are stored."""

    def __post_init__(self) -> None:
        self.num_rows = self.sentence.options.beam_size
        self.num_tokens = len(self.sentence.ids)

    @property
    def expected_work(self) -> int:
        """Tokens to encode and to decode over all rows, if the translation is as long as the
        source."""
        options, prefix = self.sentence.options, self.sentence.prefix
        num_steps = min(
            max(self.num_tokens, len(prefix) + 1), options.target_limit(self.num_tokens)
        )
        return self.num_tokens + self.num_rows * num_steps

    @property
    def attained_work(self) -> int:
        """Tokens that were encoded and decoded over all rows."""
        return self.num_tokens + self.num_rows * self.num_steps

    @property
    def level(self) -> int:
        """Urgency, 0 first: the logarithm of the work of the whole request, and of the work that
        this task has already had."""
        expected = self.inherited_work or self.request.expected_work
        if not expected:
            return 0
        return (max(self.attained_work, expected) // SHORT_WORK).bit_length()

    def inherit(self, other: SentenceTask) -> None:
        """Become as urgent as a task that waits for this one (priority inheritance, Sha et al.
        1990). Runs on the event loop; the worker reads the level at the next step."""
        own = self.inherited_work or self.request.expected_work
        self.inherited_work = min(own, other.request.expected_work)

    @property
    def rank(self) -> int:
        """Order within the request, lowest first. Long sentences go first, so they do not run
        alone at the end; streamed sentences keep their order."""
        return 0 if self.sentence.is_streamed else -self.num_tokens

    def times(self, ended_seconds: float) -> SentenceTimes:
        """Return the times of a task that was admitted and has ended."""
        return SentenceTimes(
            arrived=self.request.arrived_seconds,
            queue=self.admitted_seconds - self.request.arrived_seconds,
            encode=self.encode_seconds,
            decode=ended_seconds - self.admitted_seconds - self.encode_seconds,
        )


@dataclass(eq=False)
class EngineRequest:
    """All sentences of one call; done when each has its outcome. Times are monotonic seconds.

    `_pending_updates` holds at most one update per target token and one per sentence, even if the
    reader is slow.
    """

    future: asyncio.Future[list[SentenceOutcome]]
    arrived_seconds: float
    num_unsettled: int
    """Sentences without an outcome, also of those that are still to be added."""
    ends_seconds: float = math.inf
    """The deadline: an outcome that comes later is one of a sentence that is not done in time."""
    tasks: list[SentenceTask] = field(default_factory=list)
    expected_work: int = 0
    """The sum over the tasks, and the work that the request had before; 0 makes all requests
    equally urgent."""
    _pending_updates: asyncio.Queue[Update] = field(default_factory=asyncio.Queue)
    _outcomes: dict[int, SentenceOutcome] = field(default_factory=dict)

    def add(self, sentences: Sequence[SourceSentence]) -> list[SentenceTask]:
        """Make the tasks of the next sentences."""
        added = [SentenceTask(s, self, index) for index, s in enumerate(sentences, len(self.tasks))]
        self.tasks += added
        self.expected_work += sum(task.expected_work for task in added)
        return added

    def fail_open_tasks(self, error: ServiceError) -> None:
        """Give the error to each task without an outcome. Runs on the event loop."""
        for task in self.tasks:
            self.receive(Update(task.index, outcome=SentenceOutcome([], error)))

    def receive(self, update: Update) -> None:
        """Queue the update; resolve the future on the last outcome. Ignore it if its sentence has
        an outcome. Runs on the event loop."""
        if update.index in self._outcomes:
            return
        if update.outcome and not update.outcome.error and time.monotonic() > self.ends_seconds:
            update = Update(update.index, outcome=SentenceOutcome([], deadline_error(self)))
        self._pending_updates.put_nowait(update)
        if update.outcome is not None:
            self._outcomes[update.index] = update.outcome
            self.num_unsettled -= 1
        if not self.num_unsettled and not self.future.done():
            self.future.set_result([self._outcomes[index] for index in range(len(self.tasks))])

    def free(self) -> None:
        """Drop what the request holds, a part in each turn of the event loop: ten thousand
        sentences take 10 ms. Its tasks refer to it, so that it would stay until the garbage
        collector comes."""
        del self.tasks[-_FREED_AT_ONCE:]
        for _ in range(min(_FREED_AT_ONCE, len(self._outcomes))):
            self._outcomes.popitem()
        for _ in range(min(_FREED_AT_ONCE, self._pending_updates.qsize())):
            self._pending_updates.get_nowait()
        if self.tasks or self._outcomes or self._pending_updates.qsize():
            self.future.get_loop().call_soon(self.free)

    async def updates(self) -> AsyncGenerator[Update]:
        """Yield updates until each sentence has its outcome."""
        num_open = len(self.tasks)
        while num_open:
            update = await self._pending_updates.get()
            num_open -= update.outcome is not None
            yield update


def deadline_error(request: EngineRequest) -> DeadlineExceeded:
    """The error of sentences that are not done in time."""
    waited_ms = (time.monotonic() - request.arrived_seconds) * 1000
    return DeadlineExceeded(f"not done after {waited_ms:.0f} ms, when its deadline was over")
