"""A simulated runner and clock under the real batch loop.

Nothing here waits. The same arrivals can be served by any policy, and the result depends on nothing
but the seed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, Hypothesis, SourceSentence, StepResult
from model.decoding.step_cost import StepCost
from service.engine.admission import AdmissionControl
from service.engine.batch_loop import BatchLoop
from service.engine.schedule import Schedule
from service.engine.sentence_engine import AwaitedRequest
from service.engine.sentence_task import (
    SentenceOutcome,
    SentenceTask,
    expected_work,
)
from service.observability.metrics import Metrics


@dataclass(frozen=True)
class Cost:
    """Seconds: fixed per step, per row, per position that a row attends to; fixed per encoding and
    per source token."""

    fixed: float
    per_row: float
    per_position: float
    encode_fixed: float
    per_source_token: float

    def of_step(self, num_rows: int, num_positions: int) -> float:
        """`num_positions`: the lengths of the histories of all rows together."""
        return self.fixed + self.per_row * num_rows + self.per_position * num_positions

    def of_encoding(self, num_tokens: int) -> float:
        return self.encode_fixed + self.per_source_token * num_tokens


MEASURED = Cost(100e-6, 19e-6, 0.05e-6, 330e-6, 25e-6)
"""Seconds on one core of a Xeon with AMX, the bundled zh-en in int8; the host's work included."""


@dataclass(frozen=True)
class Arrival:
    """A request at a moment (seconds): tokens of each source, and of each translation; and the work
    that it had before."""

    seconds: float
    num_source_tokens: Sequence[int]
    num_target_tokens: Sequence[int]
    prior_work: int = 0

    @property
    def num_tokens(self) -> int:
        return sum(self.num_target_tokens)


@dataclass
class Served:
    """One request: when it came and ended, and the seconds that it takes alone."""

    arrival: Arrival
    alone: float
    ended: float = 0.0
    num_open: int = 0

    @property
    def latency(self) -> float:
        return self.ended - self.arrival.seconds

    @property
    def slowdown(self) -> float:
        """Latency over latency alone."""
        return self.latency / self.alone


@dataclass
class SimulatedRunner:
    """A runner whose steps move a clock. The first id of a source tells how many tokens its
    translation has."""

    cost: Cost
    max_slots: int = 128
    max_rows: int = 512
    max_beam_size: int = 16
    max_source_tokens: int = 10**9
    max_target_tokens: int = 10**9
    can_step_subset: bool = True
    step_cost: StepCost | None = None
    refused_paths: Sequence[str] = ()
    now: float = 0.0
    num_steps: int = 0
    longest_wait: int = 0
    """Steps, of any kind, between two of one sentence."""

    def __post_init__(self) -> None:
        self._running: dict[int, SourceSentence] = {}
        self._ages: dict[int, int] = {}
        self._stepped: dict[int, int] = {}
        self._num_rows = self._next_handle = 0

    @property
    def num_free_slots(self) -> int:
        return self.max_slots - len(self._running)

    @property
    def num_free_rows(self) -> int:
        return self.max_rows - self._num_rows

    def share_cores(self, sharers: int) -> None:
        pass

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        self.now += self.cost.of_encoding(sum(len(sentence.ids) for sentence in sentences))
        handles = range(self._next_handle, self._next_handle + len(sentences))
        self._next_handle += len(sentences)
        for handle, sentence in zip(handles, sentences, strict=True):
            self._running[handle] = sentence
            self._ages[handle] = 0
            self._stepped[handle] = self.num_steps
            self._num_rows += sentence.options.beam_size
        return list(handles)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        taken = list(self._running) if handles is None else handles
        beams = [self._running[handle].options.beam_size for handle in taken]
        num_positions = sum(b * self._ages[h] for b, h in zip(beams, taken, strict=True))
        self.now += self.cost.of_step(sum(beams), num_positions)
        self.num_steps += 1
        ended = []
        for handle in taken:
            self.longest_wait = max(self.longest_wait, self.num_steps - self._stepped[handle])
            self._stepped[handle] = self.num_steps
            self._ages[handle] += 1
            if self._ages[handle] >= self._running[handle].ids[0]:
                ended.append(handle)
        for handle in ended:
            self.release(handle)
        return StepResult([Finished(h, [Hypothesis([], [], 0.0, "stop")]) for h in ended], {})

    def stream(self, handle: int) -> None:
        pass

    def release(self, handle: int) -> None:
        self._num_rows -= self._running.pop(handle).options.beam_size
        del self._ages[handle], self._stepped[handle]


@dataclass(frozen=True)
class Policy:
    """How a batch loop schedules, and what its runner can."""

    is_preemptive: bool = True
    max_slots: int = 128
    can_step_subset: bool = True


def seconds_alone(arrival: Arrival, cost: Cost, beam_size: int) -> float:
    """Seconds that a request takes on an idle runner: all its sentences in one batch."""
    seconds = cost.of_encoding(sum(arrival.num_source_tokens))
    for step in range(max(arrival.num_target_tokens)):
        num_rows = beam_size * sum(length > step for length in arrival.num_target_tokens)
        seconds += cost.of_step(num_rows, num_rows * step)
    return seconds


class Simulation:
    """One runner that serves arrivals in order."""

    def __init__(self, policy: Policy, cost: Cost = MEASURED, beam_size: int = 4) -> None:
        self._policy, self._cost, self._beam_size = policy, cost, beam_size
        self.runner = SimulatedRunner(
            cost, max_slots=policy.max_slots, can_step_subset=policy.can_step_subset
        )
        self.runner.max_rows = beam_size * policy.max_slots
        self.runner.step_cost = StepCost(cost.fixed, cost.per_row)
        self.batch_loop = BatchLoop(
            self.runner,
            Schedule(self.runner, 1024, policy.is_preemptive),
            AdmissionControl(10**9, 10**9),
            Metrics().of_model("simulation"),
            lambda: self.runner.now,
        )
        self._requests: dict[AwaitedRequest, Served] = {}
        self._loop = asyncio.new_event_loop()

    def serve(
        self,
        arrivals: Sequence[Arrival],
        next_of: Callable[[Served], Arrival | None] = lambda _: None,
    ) -> list[Served]:
        """Serve all of them to their end, in order of arrival. `next_of`: what the client of an
        ended request sends next, at once."""
        waiting = list(reversed(arrivals))
        while waiting or not self.batch_loop.is_idle:
            if self.batch_loop.is_idle:
                self.runner.now = max(self.runner.now, waiting[-1].seconds)
            while waiting and waiting[-1].seconds <= self.runner.now:
                self.add(waiting.pop())
            self.batch_loop.step(1)
            for task, _ in self.batch_loop.take_updates():
                served = self._requests[task.request]
                served.num_open -= 1
                served.ended = self.runner.now
                if not served.num_open and (following := next_of(served)):
                    self.add(following)
        self._loop.close()
        return list(self._requests.values())

    def add(self, arrival: Arrival) -> list[SentenceTask]:
        """Queue a request now; `serve` does so at its moment."""
        future: asyncio.Future[list[SentenceOutcome]] = self._loop.create_future()
        options = DecodingOptions(beam_size=self._beam_size)
        lengths = zip(arrival.num_source_tokens, arrival.num_target_tokens, strict=True)
        sentences = [
            SourceSentence([target] + [0] * (source - 1), options) for source, target in lengths
        ]
        work = arrival.prior_work + sum(map(expected_work, sentences))
        work = work if self._policy.is_preemptive else 0
        request = AwaitedRequest(future, arrival.seconds, len(sentences), work)
        tasks = [SentenceTask(sentence, request) for sentence in sentences]
        alone = seconds_alone(arrival, self._cost, self._beam_size)
        self._requests[request] = Served(arrival, alone, num_open=len(tasks))
        self.batch_loop.add(tasks)
        return tasks


def random_arrivals(count: int, rate: float, seed: int) -> list[Arrival]:
    """Poisson arrivals of mixed requests: most of one sentence, some of a paragraph, few of a
    document. Lengths are log-normal; a translation is about as long as its source."""
    rng = random.Random(seed)
    seconds, arrivals = 0.0, []
    for _ in range(count):
        seconds += rng.expovariate(rate)
        num_sentences = rng.choices((1, 4, 40), weights=(80, 18, 2))[0]
        sources = [min(28, 3 + int(rng.lognormvariate(2.2, 0.8))) for _ in range(num_sentences)]
        targets = [max(2, round(length * rng.lognormvariate(0.1, 0.25))) for length in sources]
        arrivals.append(Arrival(seconds, sources, targets))
    return arrivals
