"""A sentence task, the requests that wait for it, and its outcome.

Only the worker's thread changes what runs; only the event loop changes requests and waiters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.ticket import Ticket
from service.errors import ServiceError

_SHORT_WORK = 64
"""Work of the most urgent level; the next one ends at four times as much, and so on."""


class SentenceOutcome(NamedTuple):
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
    def phases(self) -> tuple[float, float, float]:
        """Seconds of waiting for a slot, in the encoder and in the decoder. Of a request that
        joined later what it waited itself."""
        joined, encoded = max(self.admitted, self.arrived), max(self.encoded, self.arrived)
        return joined - self.arrived, max(0.0, self.encoded - joined), self.ended - encoded


SentenceKey = tuple[tuple[int, ...], DecodingOptions, tuple[int, ...], bool, bool]
"""All that a model's translation of a sentence depends on: its ids, options (with the seed of a
sample) and prefix, and whether it is aligned and cut."""
Waiter = tuple["EngineRequest", int, bool]
"""A request that waits for its sentence of this index, and whether also for its tokens."""
CancelReason = Literal["client", "deadline"]
News = Sequence[int] | SentenceOutcome
"""Newly settled target ids of a sentence, or its outcome."""


class SentenceTask:
    """One sentence that a worker computes. It waits until it has a handle, and runs until it has an
    outcome."""

    def __init__(
        self, sentence: SourceSentence, request: EngineRequest, key: SentenceKey | None = None
    ) -> None:
        """`request`: the first that wanted it. `key`: what equal sentences have in common; None:
        the task is not shared."""
        self.sentence, self.request, self.key = sentence, request, key
        self.waiters: list[Waiter] = []
        self.settled_ids: list[int] = []
        self.is_streamed = sentence.is_streamed
        """Whether the runner was asked for its tokens."""
        self.num_rows, self.num_tokens = sentence.options.beam_size, len(sentence.ids)
        """Rows of its beam, and tokens of its source."""
        self.rank = 0 if sentence.is_streamed else -self.num_tokens
        """Order within the request, lowest first. Long sentences go first, so they do not run
        alone at the end; streamed sentences keep their order."""
        self.most_work = 0
        """What it may need, as `most_work` of the sentence; counted while it waits."""
        self.request_work = request.expected_work
        self.level = level_of(max(self.num_tokens, self.request_work)) if self.request_work else 0
        self.handle: int | None = None
        self.admitted_seconds = self.encoded_seconds = self.stepped_seconds = 0.0
        self.num_missed = self.rises_at = 0
        """As `RunningTasks` counts steps."""
        self.num_steps = 0
        """When it has left: of steps that may leave tasks out."""

    def join(self, request: EngineRequest, index: int, *, is_streamed: bool) -> None:
        """Publish to this request too, also what was streamed until now. Runs on the event loop."""
        self.waiters.append((request, index, is_streamed))
        request.tasks[self] = None
        if is_streamed and self.settled_ids:
            request.receive(index, tuple(self.settled_ids))

    def publish_ids(self, ids: Sequence[int]) -> None:
        """Pass newly settled ids on to the waiters that want them. Runs on the event loop."""
        self.settled_ids += ids
        for request, index, is_streamed in self.waiters:
            if is_streamed:
                request.receive(index, ids)

    def publish(self, outcome: SentenceOutcome) -> None:
        """Pass the outcome on to all waiters. Runs on the event loop."""
        for request, index, _ in self.waiters:
            request.tasks.pop(self, None)
            own = outcome
            if request is not self.request:
                own = outcome._replace(arrived=request.arrived_seconds)
            request.end(index, own)
        self.waiters.clear()


class EngineRequest(ABC):
    """The sentences of one call, as the engine sees them. Times are monotonic seconds.

    Only the event loop uses its methods.
    """

    arrived_seconds: float
    expected_work: int
    """Of all sentences, and the work that the request had before; 0 makes all requests equally
    urgent."""
    ticket: Ticket
    tasks: dict[SentenceTask, None]
    """Those that it waits for, in order."""

    @abstractmethod
    def receive(self, index: int, ids: Sequence[int]) -> None:
        """Take newly settled ids of a sentence."""

    @abstractmethod
    def end(self, index: int, outcome: SentenceOutcome) -> None:
        """Take the outcome of a sentence."""


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


def end_of_level(level: int) -> int:
    """The least work beyond a level."""
    return int(_SHORT_WORK * 4**level)
