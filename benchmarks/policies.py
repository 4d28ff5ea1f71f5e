"""Continuous batching against request-level batching and one at a time, on the same workers.

The same Poisson arrivals of the same sentences are served by four policies in turns. They differ in
who may join whom; workers, batch loops and runners are the server's own, without its HTTP:

single      one sentence at a time
batch       whole batches: what waits is taken when the last batch is done, and answered together,
            as request-level batching does it (Yu et al. 2022, "Orca", section 3)
batch-each  the same, but each sentence is answered as soon as it is done
continuous  the server's own: a sentence joins and leaves at any step

The arrival rate is raised until a policy's p95 latency, the median of several rounds, passes the
largest bound; the highest rate within a bound is its throughput at that p95. At last what each
reaches when everything arrives at once.

    python -m benchmarks.policies
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import random
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, percentile, real_sentences
from model.backends.selection import prepare, resolve_precision
from model.checkpoint.reference import load_checkpoint
from model.decoding.sentence import SourceSentence
from model.runner import Runner
from service.engine.admission import AdmissionControl
from service.engine.schedule import Schedule
from service.engine.sentence_engine import AwaitedRequest
from service.engine.sentence_task import (
    EngineRequest,
    News,
    SentenceOutcome,
    SentenceTask,
    expected_work,
)
from service.engine.worker import Worker
from service.errors import NotReady
from service.observability.metrics import Metrics

MAX_SLOTS = 64
MAX_ROWS = 256
MAX_PREFILL_TOKENS = 1024


class Batches(Schedule):
    """At most `size` sentences, and nobody joins before the last of them is done."""

    def __init__(self, runner: Runner, size: int) -> None:
        super().__init__(runner, MAX_PREFILL_TOKENS, is_preemptive=False)
        self._size = size
        self.batches: list[list[SentenceTask]] = []

    def newcomers(self) -> list[SentenceTask]:
        if self.running or not self.waiting:
            return []
        batch: list[SentenceTask] = []
        while self.waiting and len(batch) < min(self._size, self._runner.max_slots):
            batch.append(self.waiting.most_urgent)
            self.waiting.remove_next(batch[-1])
        self.batches.append(batch)
        return batch


class Policy(NamedTuple):
    """How many workers there are, who joins whom, and whether a batch is answered as one."""

    num_workers: int
    make_schedule: Callable[[Runner], Schedule]
    are_answered_together: bool = False


POLICIES = {
    "single": Policy(1, lambda runner: Batches(runner, 1)),
    "batch": Policy(2, lambda runner: Batches(runner, MAX_SLOTS), are_answered_together=True),
    "batch-each": Policy(2, lambda runner: Batches(runner, MAX_SLOTS)),
    "continuous": Policy(2, lambda runner: Schedule(runner, MAX_PREFILL_TOKENS)),
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


async def serve(
    policy: Policy,
    runners: Sequence[Runner],
    sentences: list[SourceSentence],
    rate: float,
    seed: int,
) -> Result:
    """Serve every sentence, arriving at random at `rate` a second."""
    rng = random.Random(seed)
    requests: list[AwaitedRequest] = []
    loop = asyncio.get_running_loop()
    ended: dict[EngineRequest, float] = {}
    async with running(policy, runners) as (workers, schedules):
        started = moment = time.monotonic()
        for sentence in sentences:
            moment += rng.expovariate(rate)
            await asyncio.sleep(max(0.0, moment - time.monotonic()))
            future: asyncio.Future[list[SentenceOutcome]] = loop.create_future()
            request = AwaitedRequest(future, moment, 1, expected_work(sentence))
            future.add_done_callback(functools.partial(_note_end, ended, request))
            task = SentenceTask(sentence, request)
            task.join(request, 0, is_streamed=False)
            min(workers, key=lambda worker: worker.load).put([task])
            requests.append(request)
        await asyncio.gather(*(request.future for request in requests))
    reached = len(sentences) / (time.monotonic() - started)
    if policy.are_answered_together:
        ended = _ends_of_batches(schedules, ended)
    latencies = [ended[request] - request.arrived_seconds for request in requests]
    return Result(reached, percentile(latencies, 50), percentile(latencies, 95))


def _note_end(ended: dict[EngineRequest, float], request: AwaitedRequest, _: object) -> None:
    ended[request] = time.monotonic()


def _publish(task: SentenceTask, news: News) -> None:
    if isinstance(news, SentenceOutcome):
        task.publish(news)


def _giving(runner: Runner) -> Callable[[], Runner]:
    return lambda: runner


def _keep(schedule: Schedule, _: object) -> Schedule:
    return schedule


@asynccontextmanager
async def running(
    policy: Policy, runners: Sequence[Runner]
) -> AsyncGenerator[tuple[list[Worker], list[Schedule]]]:
    """The workers of the policy."""
    metrics, admission = Metrics().of_model("benchmark"), AdmissionControl(10**9, 10**9)
    schedules = [policy.make_schedule(runner) for runner in runners]
    busy_workers: set[Worker] = set()
    workers = [
        Worker(
            _giving(runner),
            functools.partial(_keep, schedule),
            admission,
            metrics,
            busy_workers,
            NotReady,
            _publish,
        )
        for runner, schedule in zip(runners, schedules, strict=True)
    ]
    for worker in workers:
        worker.start()
    try:
        yield workers, schedules
    finally:
        for worker in workers:
            worker.request_stop()
            worker.join()


def _ends_of_batches(
    schedules: Sequence[Schedule], ended: dict[EngineRequest, float]
) -> dict[EngineRequest, float]:
    """Every request as late as the last of its batch."""
    batches = [b for s in schedules if isinstance(s, Batches) for b in s.batches]
    return {
        task.request: max(ended[other.request] for other in batch)
        for batch in batches
        for task in batch
    }


class Contest:
    """The policies in turns, on the same runners with the server's default limits."""

    def __init__(self, model: Path, sentences: Path | None, rounds: int) -> None:
        checkpoint = load_checkpoint(model)
        self._tokenizer, self._options = checkpoint.tokenizer, checkpoint.info.decoding
        self._sentences, self._rounds = sentences, rounds
        control_ids = checkpoint.tokenizer.control_ids()
        precision = resolve_precision("auto", "cpu")
        shared = prepare(checkpoint.model, control_ids, precision, backend=None)
        self._runners = {
            num_workers: [
                Runner(
                    shared,
                    control_ids,
                    max_slots=MAX_SLOTS // num_workers,
                    max_rows=MAX_ROWS // num_workers,
                    max_source_tokens=128,
                    max_target_tokens=256,
                    precision=precision,
                    byte_ids=checkpoint.tokenizer.byte_ids(),
                    copied_ids=checkpoint.tokenizer.copied_ids(),
                )
                for _ in range(num_workers)
            ]
            for num_workers in {policy.num_workers for policy in POLICIES.values()}
        }

    def hold(self, policies: Sequence[str], rate: float, count: int) -> dict[str, Result]:
        """`count` sentences at `rate` a second for each, round after round -> the medians."""
        texts = real_sentences(count, 1, self._sentences)
        encode = self._tokenizer.encode_source
        sentences = [SourceSentence(encode(text, "en"), self._options) for text in texts]
        rounds = [
            {name: self._serve(POLICIES[name], sentences, rate, seed) for name in policies}
            for seed in range(self._rounds)
        ]
        results = {name: Result.median([results[name] for results in rounds]) for name in policies}
        for name, result in results.items():
            print(f"{name:<11} offered {rate:6.0f}/s {result}", flush=True)
        return results

    def _serve(
        self, policy: Policy, sentences: list[SourceSentence], rate: float, seed: int
    ) -> Result:
        runners = self._runners[policy.num_workers]
        return uvloop.run(serve(policy, runners, sentences, rate, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--sentences", type=Path, help="one a line; default: the test data")
    bounds = [20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 75.0, 100.0, 150.0]
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
    print(f"\n{provenance(weights(arguments.model))}\n")
    print(f"| p95 within | {' | '.join(POLICIES)} |\n{'|---' * (1 + len(POLICIES))}|")
    for bound in arguments.bounds_ms:
        rates = (f"{best[policy].get(bound, 0):.0f}" for policy in POLICIES)
        print(f"| {bound:.0f} ms | {' | '.join(rates)} |")


if __name__ == "__main__":
    main()
