"""Computes identical sentences once: those in the cache, and those that are computed now.

Only the event loop uses this. The worker of a sentence knows one task; its updates go to every
request that wants the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.cache import SentenceCache, key_of
from service.engine.sentence_task import (
    EngineRequest,
    SentenceOutcome,
    SentenceTask,
    SentenceTimes,
    Update,
)
from service.observability.metrics import ModelMetrics


class Flight:
    """One sentence that is computed, and the places of requests that want it ("single flight")."""

    def __init__(self, key: SourceSentence, task: SentenceTask) -> None:
        self.key, self.task = key, task
        self.is_streamed = task.sentence.is_streamed
        self._ids: list[int] = []
        self.wanting = [task]
        """The tasks that want the sentence; the first may have left."""

    def join(self, task: SentenceTask) -> None:
        """Send the updates to this task's request too, and what was streamed until now."""
        self.wanting.append(task)
        if task.sentence.is_streamed and self._ids:
            task.request.receive(Update(task.index, tuple(self._ids)))

    def leave(self, task: SentenceTask) -> None:
        """Send no more updates to this task's request."""
        if task in self.wanting:
            self.wanting.remove(task)

    def publish(self, update: Update) -> None:
        """Pass an update on to all that want it."""
        self._ids += update.ids
        for task in self.wanting:
            if update.outcome is not None:
                outcome = update.outcome if task is self.task else _joined(task, update.outcome)
                task.request.receive(Update(task.index, outcome=outcome))
            elif task.sentence.is_streamed:
                task.request.receive(Update(task.index, update.ids))


@dataclass
class Plan:
    """What becomes of a request's tasks: found in the cache, joined to a flight, or computed."""

    found: list[tuple[SentenceTask, Sequence[Hypothesis]]] = field(default_factory=list)
    joining: list[tuple[SentenceTask, Flight]] = field(default_factory=list)
    starting: dict[SourceSentence, Flight] = field(default_factory=dict)

    @property
    def tasks(self) -> list[SentenceTask]:
        """The tasks to compute."""
        return [flight.task for flight in self.starting.values()]


class SharedSentences:
    """The flights of one model, and its cache."""

    def __init__(
        self, max_bytes: int, metrics: ModelMetrics, stream: Callable[[SentenceTask], None]
    ) -> None:
        """`stream`: makes a task that is computed send its tokens as they settle."""
        self.cache = SentenceCache(max_bytes)
        self._metrics, self._stream = metrics, stream
        self._flights: dict[SourceSentence, Flight] = {}
        self._flight_of: dict[SentenceTask, Flight] = {}

    def plan(self, tasks: Sequence[SentenceTask]) -> Plan:
        """Look every task up; change nothing."""
        plan = Plan()
        for task in tasks:
            key = key_of(task.sentence)
            if (hypotheses := self.cache.get(key)) is not None:
                plan.found.append((task, hypotheses))
            elif flight := plan.starting.get(key) or self._joinable(key, task):
                plan.joining.append((task, flight))
            else:
                plan.starting[key] = Flight(key, task)
        return plan

    def follow(self, plan: Plan) -> None:
        """Answer what was found, join flights and register new ones."""
        for flight in plan.starting.values():
            self._flights[flight.key] = self._flight_of[flight.task] = flight
            flight.task.publish = self._publisher(flight)
        for task, flight in plan.joining:
            self._join(task, flight)
        for task, hypotheses in plan.found:
            times = SentenceTimes(task.request.arrived_seconds, 0.0, 0.0, 0.0)
            outcome = SentenceOutcome(hypotheses, times=times)
            task.request.receive(Update(task.index, outcome=outcome))
        self._metrics.count_looked_up("hit", len(plan.found))
        self._metrics.count_looked_up("joined", len(plan.joining))
        self._metrics.count_looked_up("miss", len(plan.starting))

    def leave(self, request: EngineRequest) -> list[SentenceTask]:
        """Leave all flights of the request -> tasks, possibly of others, that nobody wants now."""
        unwanted: list[SentenceTask] = []
        for task in request.tasks:
            flight = self._flight_of.pop(task, None)
            if flight is None:
                continue
            flight.leave(task)
            if not flight.wanting:
                self._forget(flight)
                unwanted.append(flight.task)
        return unwanted

    def _joinable(self, key: SourceSentence, task: SentenceTask) -> Flight | None:
        """The flight of this sentence, unless it waits and is less urgent: a short request does not
        wait for a document's turn."""
        flight = self._flights.get(key)
        if flight is None or (flight.task.handle is None and flight.task.level > task.level):
            return None
        return flight

    def _join(self, task: SentenceTask, flight: Flight) -> None:
        if task.sentence.is_streamed and not flight.is_streamed:
            flight.is_streamed = True
            self._stream(flight.task)
        self._flight_of[task] = flight
        flight.task.inherit(task)
        flight.join(task)

    def _publisher(self, flight: Flight) -> Callable[[Update], None]:
        def publish(update: Update) -> None:
            if update.outcome is not None:
                self._land(flight, update.outcome)
            flight.publish(update)

        return publish

    def _land(self, flight: Flight, outcome: SentenceOutcome) -> None:
        self._forget(flight)
        for task in flight.wanting:
            self._flight_of.pop(task, None)
        if outcome.error is None:
            self.cache.put(flight.key, outcome.hypotheses)

    def _forget(self, flight: Flight) -> None:
        if self._flights.get(flight.key) is flight:
            del self._flights[flight.key]


def _joined(task: SentenceTask, outcome: SentenceOutcome) -> SentenceOutcome:
    """The outcome for a place that joined later: its times add up to its own wait."""
    if outcome.times is None:
        return outcome
    leader, arrived = outcome.times, task.request.arrived_seconds
    total = max(0.0, leader.arrived + leader.queue + leader.encode + leader.decode - arrived)
    decode = min(leader.decode, total)
    encode = min(leader.encode, total - decode)
    times = SentenceTimes(arrived, total - decode - encode, encode, decode)
    return replace(outcome, times=times)
