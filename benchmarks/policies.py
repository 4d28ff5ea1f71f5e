"""Continuous batching against request-level batching and one at a time, on the same runner.

The same Poisson arrivals of the same sentences are served by four policies in turns:

single      one sentence at a time
batch       whole batches: what waits is taken when the last batch is done, and answered together,
            as request-level batching does it (Yu et al. 2022, "Orca", section 3)
batch-each  the same, but each sentence is answered as soon as it is done
continuous  the server's own: its scheduler and its turns, a sentence joins and leaves at any step

The arrival rate is raised until a policy's p95 latency, the median of several rounds, passes the
largest bound; the highest rate within a bound is its throughput at that p95. At last what each
reaches when everything arrives at once.

    python -m benchmarks.policies
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.sentences import ROOT, percentile, real_sentences
from model.checkpoint import load_checkpoint
from model.placement import resolve_precision
from model.runner import Runner
from model.sentence import SourceSentence
from service.backlog import Backlog
from service.crank import Crank
from service.metrics import Metrics
from service.scheduler import Scheduler
from service.sequence import Request

MAX_SLOTS = 64
MAX_ROWS = 256
MAX_PREFILL_TOKENS = 1024


class Policy(Protocol):
    """Who is served when. Arrivals and answers are known by the moments of arrival."""

    def add(self, sentence: SourceSentence, arrived: float) -> None:
        """The sentence waits from now on."""

    def turn(self) -> list[float]:
        """Take a step -> the arrivals that are answered."""


class Batches:
    """At most `size` sentences, and nobody joins before the last of them is done."""

    def __init__(self, runner: Runner, size: int, are_answered_together: bool) -> None:
        self._runner, self._size = runner, size
        self._are_answered_together = are_answered_together
        self._waiting: deque[tuple[SourceSentence, float]] = deque()
        self._arrived: dict[int, float] = {}
        self._done: list[float] = []

    def add(self, sentence: SourceSentence, arrived: float) -> None:
        self._waiting.append((sentence, arrived))

    def turn(self) -> list[float]:
        if not self._runner.num_running:
            count = min(len(self._waiting), self._size)
            chosen = [self._waiting.popleft() for _ in range(count)]
            handles = self._runner.admit([sentence for sentence, _ in chosen])
            self._arrived = {h: at for h, (_, at) in zip(handles, chosen, strict=True)}
        self._done += [self._arrived[done.handle] for done in self._runner.step().finished]
        if self._are_answered_together and self._runner.num_running:
            return []
        answered, self._done = self._done, []
        return answered


class Continuous:
    """What the engine's thread does, without the engine."""

    def __init__(self, runner: Runner) -> None:
        self._backlog = Backlog(10**9, 10**9)
        metrics = Metrics().of_model("benchmark")
        self._crank = Crank(runner, Scheduler(MAX_PREFILL_TOKENS), self._backlog, metrics)
        self._loop = asyncio.new_event_loop()

    def add(self, sentence: SourceSentence, arrived: float) -> None:
        request = Request(self._loop.create_future(), arrived)
        request.add([sentence])
        self._backlog.enter(request.sequences)
        self._crank.add(request)

    def turn(self) -> list[float]:
        self._crank.turn()
        return [request.arrived_seconds for request, update in self._crank.take_news()]


POLICIES: dict[str, Callable[[Runner], Policy]] = {
    "single": lambda runner: Batches(runner, 1, are_answered_together=True),
    "batch": lambda runner: Batches(runner, MAX_SLOTS, are_answered_together=True),
    "batch-each": lambda runner: Batches(runner, MAX_SLOTS, are_answered_together=False),
    "continuous": Continuous,
}


@dataclass(frozen=True)
class Result:
    """One run, or the median of several: sentences a second, latency in seconds."""

    reached: float
    p50: float
    p95: float

    @classmethod
    def median(cls, results: Sequence[Result]) -> Result:
        columns = zip(*((r.reached, r.p50, r.p95) for r in results), strict=True)
        return cls(*map(statistics.median, columns))

    def __str__(self) -> str:
        return (
            f"reached {self.reached:6.1f}/s "
            f"p50 {self.p50 * 1000:8.1f} ms p95 {self.p95 * 1000:8.1f} ms"
        )


def serve(
    name: str, runner: Runner, sentences: list[SourceSentence], rate: float, seed: int
) -> Result:
    """Serve every sentence, arriving at random at `rate` a second."""
    rng = random.Random(seed)
    policy = POLICIES[name](runner)
    started = moment = time.monotonic()
    arrivals: deque[tuple[float, SourceSentence]] = deque()
    for sentence in sentences:
        moment += rng.expovariate(rate)
        arrivals.append((moment, sentence))
    latencies: list[float] = []
    num_open = 0
    while arrivals or num_open:
        if not num_open:
            time.sleep(max(0.0, arrivals[0][0] - time.monotonic()))
        now = time.monotonic()
        while arrivals and arrivals[0][0] <= now:
            arrived, sentence = arrivals.popleft()
            policy.add(sentence, arrived)
            num_open += 1
        answered = policy.turn() if num_open else []
        num_open -= len(answered)
        now = time.monotonic()
        latencies += [now - arrived for arrived in answered]
    reached = len(sentences) / (time.monotonic() - started)
    return Result(reached, percentile(latencies, 50), percentile(latencies, 95))


class Contest:
    """The policies in turns, on one runner with the server's default limits."""

    def __init__(self, model: Path, sentences: Path | None, rounds: int) -> None:
        checkpoint = load_checkpoint(model)
        self._tokenizer, self._options = checkpoint.tokenizer, checkpoint.info.decoding
        self._sentences, self._rounds = sentences, rounds
        self._runner = Runner(
            checkpoint.model,
            checkpoint.tokenizer.control_ids(),
            max_slots=MAX_SLOTS,
            max_rows=MAX_ROWS,
            max_source_tokens=128,
            max_target_tokens=256,
            precision=resolve_precision("auto", "cpu"),
        )

    def hold(self, policies: Sequence[str], rate: float, count: int) -> dict[str, Result]:
        """`count` sentences at `rate` a second for each, round after round -> the medians."""
        texts = real_sentences(count, 1, self._sentences)
        encode = self._tokenizer.encode_source
        sentences = [SourceSentence(encode(text, "en"), self._options) for text in texts]
        rounds = [
            {policy: serve(policy, self._runner, sentences, rate, seed) for policy in policies}
            for seed in range(self._rounds)
        ]
        results = {p: Result.median([results[p] for results in rounds]) for p in policies}
        for policy, result in results.items():
            print(f"{policy:<11} offered {rate:6.0f}/s {result}", flush=True)
        return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--sentences", type=Path, help="one a line; default: the test data")
    bounds = [30.0, 40.0, 50.0, 60.0, 75.0, 100.0, 150.0, 200.0]
    parser.add_argument("--bounds-ms", type=float, nargs="*", default=bounds)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="*", default=list(range(40, 801, 40)))
    arguments = parser.parse_args()
    contest = Contest(arguments.model, arguments.sentences, arguments.rounds)
    best: dict[str, dict[float, float]] = {policy: {} for policy in POLICIES}
    competing = list(POLICIES)
    for rate in arguments.rates:
        for policy, result in contest.hold(competing, rate, int(rate * arguments.seconds)).items():
            within = [bound for bound in arguments.bounds_ms if result.p95 * 1000 <= bound]
            best[policy].update(dict.fromkeys(within, rate))
            if not within:
                competing.remove(policy)
    contest.hold(list(POLICIES), rate=1e5, count=400)
    print("sentences/s with p95 within", *(f"{policy:>11}" for policy in POLICIES))
    for bound in arguments.bounds_ms:
        rates = (best[policy].get(bound, 0) for policy in POLICIES)
        print(f"{bound:24.0f} ms", *(f"{rate:11.0f}" for rate in rates))


if __name__ == "__main__":
    main()
