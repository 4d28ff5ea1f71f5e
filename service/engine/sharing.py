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
        self, max_bytes: int, metrics: ModelMetrics, renew: Callable[[SentenceTask], None]
    ) -> None:
        """`max_bytes`: of the cache; 0: equal sentences are computed each by itself. `renew`: tells
        the workers that a task that is computed must send its tokens or is more urgent."""
        self.cache = SentenceCache(max_bytes)
        self._metrics, self._renew = metrics, renew
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
            key = sentence_key(sentence) if self.cache.max_bytes else None
            if key and (hypotheses := self.cache.get(key)) is not None:
                num_found += 1
                request.end(index, _found(hypotheses, request))
                continue
            task = self._tasks.get(key) if key else None
            if task is None or _is_too_late(task, request):
                task = SentenceTask(sentence, request, key)
                started.append(task)
                if key:
                    self._tasks[key] = task
            else:
                self._share(task, request, is_streamed=sentence.is_streamed)
            task.join(request, index, is_streamed=sentence.is_streamed)
        if self.cache.max_bytes:
            self._metrics.count_looked_up("hit", num_found)
            self._metrics.count_looked_up("joined", len(sentences) - num_found - len(started))
            self._metrics.count_looked_up("miss", len(started))
        return started

    def leave(self, request: EngineRequest) -> list[SentenceTask]:
        """Remove the waiters of the request -> tasks that nobody wants now."""
        unwanted: list[SentenceTask] = []
        for task in request.tasks:  # those without an outcome
            task.waiters = [waiter for waiter in task.waiters if waiter[0] is not request]
            if not task.waiters:
                self._forget(task)
                unwanted.append(task)
        request.tasks.clear()
        return unwanted

    def publish(self, task: SentenceTask, news: News) -> None:
        """Pass the news of a task on to its waiters; keep a result."""
        if not isinstance(news, SentenceOutcome):
            task.publish_ids(news)
            return
        if task.key:
            self._forget(task)
            if news.error is None:
                self.cache.put(task.key, news.hypotheses)
        task.publish(news)

    def _share(self, task: SentenceTask, request: EngineRequest, *, is_streamed: bool) -> None:
        """The task sends its tokens if the request wants them, and becomes as urgent as the request
        (priority inheritance, Sha et al. 1990)."""
        is_hastened = request.expected_work < task.request_work
        if is_hastened or (is_streamed and not task.is_streamed):
            task.is_streamed |= is_streamed
            task.request_work = min(task.request_work, request.expected_work)
            self._renew(task)

    def _forget(self, task: SentenceTask) -> None:
        if task.key and self._tasks.get(task.key) is task:
            del self._tasks[task.key]


def _is_too_late(task: SentenceTask, request: EngineRequest) -> bool:
    """Whether the task waits and is less urgent: a short request does not wait for a document's
    turn."""
    return task.handle is None and task.level > level_of(request.expected_work)


def _found(hypotheses: Sequence[Hypothesis], request: EngineRequest) -> SentenceOutcome:
    """The outcome of a sentence from the cache, which took no time."""
    arrived = request.arrived_seconds
    return SentenceOutcome(hypotheses, None, arrived, arrived, arrived, arrived)


def sentence_key(sentence: SourceSentence) -> SentenceKey:
    """The key of a sentence. Whether it is streamed does not matter."""
    ids, prefix = tuple(sentence.ids), tuple(sentence.prefix)
    return ids, sentence.options, prefix, sentence.is_aligned, sentence.is_cut


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
        num_bytes = entry_bytes(key, hypotheses)
        if key in self._entries or num_bytes > self.max_bytes:
            return
        self._entries[key] = hypotheses
        self.num_bytes += num_bytes
        while self.num_bytes > self.max_bytes:
            self.num_bytes -= entry_bytes(*self._entries.popitem(last=False))


def entry_bytes(key: SentenceKey, hypotheses: Sequence[Hypothesis]) -> int:
    """An upper estimate of the memory of an entry."""
    ids, _, prefix, *_ = key
    num_bytes = _ENTRY_BYTES + _ID_BYTES * (len(ids) + len(prefix))
    for hypothesis in hypotheses:
        num_bytes += _HYPOTHESIS_BYTES + _TOKEN_BYTES * len(hypothesis.log_probs)
        if hypothesis.attention is not None:
            num_bytes += hypothesis.attention.nbytes
    return num_bytes
