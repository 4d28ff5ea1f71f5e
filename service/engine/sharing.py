"""Computes identical sentences once: those in the cache, and those that are computed now.

Only the event loop uses this.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.sentence_task import (
    EngineRequest,
    News,
    SentenceKey,
    SentenceOutcome,
    SentenceTask,
    Update,
    Waiter,
    level_of,
)
from service.observability.metrics import ModelMetrics

_ENTRY_BYTES, _HYPOTHESIS_BYTES = 1500, 400
_ID_BYTES, _TOKEN_BYTES = 40, 72
"""What CPython takes for an entry, a hypothesis, an id, and an id with its log-probability."""


class SharedSentences:
    """The tasks that are computed for one model, by sentence, and its cache.

    A request is a waiter of the task that computes its sentence ("single flight").
    """

    def __init__(
        self, max_bytes: int, metrics: ModelMetrics, stream: Callable[[SentenceTask], None]
    ) -> None:
        """`max_bytes`: of the cache; 0: equal sentences are computed each by itself. `stream`:
        makes a task that is computed send its tokens as they settle."""
        self.cache = SentenceCache(max_bytes)
        self._metrics, self._stream = metrics, stream
        self._tasks: dict[SentenceKey, SentenceTask] = {}

    def join(
        self, request: EngineRequest, sentences: Sequence[SourceSentence], first: int = 0
    ) -> list[SentenceTask]:
        """Give each sentence a waiter, or its outcome from the cache -> the tasks to compute.

        `first`: the index of the first sentence in the request.
        """
        started: list[SentenceTask] = []
        num_found = 0
        for index, sentence in enumerate(sentences, first):
            waiter = Waiter(request, index, sentence.is_streamed)
            key = key_of(sentence) if self.cache.max_bytes else None
            if key and (hypotheses := self.cache.get(key)) is not None:
                num_found += 1
                request.receive(Update(index, outcome=_found(hypotheses, request)))
                continue
            task = self._joinable(key, request) if key else None
            if task is None:
                task = SentenceTask(sentence, request, key)
                started.append(task)
                if key:
                    self._tasks[key] = task
            elif waiter.is_streamed and not task.is_streamed:
                task.is_streamed = True
                self._stream(task)
            task.join(waiter)
        if self.cache.max_bytes:
            self._metrics.count_looked_up("hit", num_found)
            self._metrics.count_looked_up("joined", len(sentences) - num_found - len(started))
            self._metrics.count_looked_up("miss", len(started))
        return started

    def leave(self, request: EngineRequest) -> list[SentenceTask]:
        """Remove the waiters of the request -> tasks that nobody wants now."""
        unwanted: list[SentenceTask] = []
        for task in request.tasks:  # those without an outcome
            task.waiters = [waiter for waiter in task.waiters if waiter.request is not request]
            if not task.waiters:
                self._forget(task)
                unwanted.append(task)
        request.tasks.clear()
        return unwanted

    def publish(self, task: SentenceTask, news: News) -> None:
        """Pass the news of a task on to its waiters; keep a result."""
        if isinstance(news, SentenceOutcome):
            self._forget(task)
            if news.error is None and task.key:
                self.cache.put(task.key, news.hypotheses)
        task.publish(news)

    def _joinable(self, key: SentenceKey, request: EngineRequest) -> SentenceTask | None:
        """The task of this sentence, unless it waits and is less urgent: a short request does not
        wait for a document's turn."""
        task = self._tasks.get(key)
        if task and task.handle is None and task.level > level_of(request.expected_work):
            return None
        return task

    def _forget(self, task: SentenceTask) -> None:
        if task.key and self._tasks.get(task.key) is task:
            del self._tasks[task.key]


def _found(hypotheses: Sequence[Hypothesis], request: EngineRequest) -> SentenceOutcome:
    """The outcome of a sentence from the cache, which took no time."""
    arrived = request.arrived_seconds
    return SentenceOutcome(hypotheses, None, arrived, arrived, arrived, arrived)


def key_of(sentence: SourceSentence) -> SentenceKey:
    """The key of a sentence. Whether it is streamed does not matter."""
    return SentenceKey(
        tuple(sentence.ids),
        sentence.options,
        tuple(sentence.prefix),
        sentence.is_aligned,
        sentence.is_cut,
    )


class SentenceCache:
    """Hypotheses of sentences of one model. The least recently used go first when the bytes, which
    are estimated, exceed `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._entries: OrderedDict[SentenceKey, Sequence[Hypothesis]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: SentenceKey) -> Sequence[Hypothesis] | None:
        """Return the sentence's hypotheses, best first, or None."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: SentenceKey, hypotheses: Sequence[Hypothesis]) -> None:
        """Keep the hypotheses, unless they alone exceed the bound."""
        if key in self._entries or entry_bytes(key, hypotheses) > self.max_bytes:
            return
        self._entries[key] = hypotheses
        self.num_bytes += entry_bytes(key, hypotheses)
        while self.num_bytes > self.max_bytes:
            self.num_bytes -= entry_bytes(*self._entries.popitem(last=False))


def entry_bytes(key: SentenceKey, hypotheses: Sequence[Hypothesis]) -> int:
    """An upper estimate of the memory of an entry."""
    num_bytes = _ENTRY_BYTES + _ID_BYTES * (len(key.ids) + len(key.prefix))
    for hypothesis in hypotheses:
        num_bytes += _HYPOTHESIS_BYTES + _TOKEN_BYTES * len(hypothesis.log_probs)
        if hypothesis.attention is not None:
            num_bytes += hypothesis.attention.nbytes
    return num_bytes
