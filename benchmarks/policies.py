"""Continuous batching against request-level batching and one at a time, on the same runner.

The same Poisson arrivals of the same sentences are served by three policies: sentences join at any
step ("continuous"), whole batches are taken when the last one is done ("batch"), or one sentence at
a time ("single"). The policies take turns while the arrival rate is raised, each until its p95
latency passes the largest bound; the highest rate within a bound is its throughput at that p95.

    python -m benchmarks.policies --bounds-ms 75 100 125 150 200 300
"""

from __future__ import annotations

import argparse
import random
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sentences import ROOT, percentile, real_sentences
from model.checkpoint import load_checkpoint
from model.placement import resolve_precision
from model.runner import Runner
from model.sentence import SourceSentence

MAX_SLOTS = 32
POLICIES = ("single", "batch", "continuous")


@dataclass(frozen=True)
class Result:
    """One run: offered and reached sentences a second, latency in seconds."""

    policy: str
    offered: float
    reached: float
    p50: float
    p95: float


def room(policy: str, runner: Runner) -> int:
    """How many sentences the policy lets in now."""
    if policy == "continuous":
        return runner.num_free_slots
    limit = MAX_SLOTS if policy == "batch" else 1
    return 0 if runner.num_running else limit


def serve(
    policy: str, runner: Runner, sentences: list[SourceSentence], rate: float, seed: int
) -> Result:
    """Serve every sentence, arriving at random at `rate` a second."""
    rng = random.Random(seed)
    started = time.monotonic()
    arrivals: deque[tuple[float, SourceSentence]] = deque()
    moment = started
    for sentence in sentences:
        moment += rng.expovariate(rate)
        arrivals.append((moment, sentence))
    waiting: deque[tuple[float, SourceSentence]] = deque()
    arrived_at: dict[int, float] = {}
    latencies: list[float] = []
    while len(latencies) < len(sentences):
        now = time.monotonic()
        while arrivals and arrivals[0][0] <= now:
            waiting.append(arrivals.popleft())
        if not waiting and not runner.num_running:
            time.sleep(max(0.0, arrivals[0][0] - now))
            continue
        chosen = [waiting.popleft() for _ in range(min(len(waiting), room(policy, runner)))]
        handles = runner.admit([sentence for _, sentence in chosen]) if chosen else []
        arrived_at |= {h: at for h, (at, _) in zip(handles, chosen, strict=True)}
        for finished in runner.step().finished:
            latencies.append(time.monotonic() - arrived_at.pop(finished.handle))
    seconds = time.monotonic() - started
    reached = len(sentences) / seconds
    return Result(policy, rate, reached, percentile(latencies, 50), percentile(latencies, 95))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--sentences", type=Path, help="one a line; default: the test data")
    bounds = [75.0, 100.0, 125.0, 150.0, 200.0, 300.0]
    parser.add_argument("--bounds-ms", type=float, nargs="*", default=bounds)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one run")
    parser.add_argument("--rates", type=float, nargs="*", default=list(range(10, 301, 10)))
    arguments = parser.parse_args()
    checkpoint = load_checkpoint(arguments.model)
    options = checkpoint.info.decoding
    runner = Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=MAX_SLOTS,
        max_rows=MAX_SLOTS * options.beam_size,
        max_source_tokens=128,
        max_target_tokens=256,
        precision=resolve_precision("auto", "cpu"),
    )
    best: dict[str, dict[float, float]] = {policy: {} for policy in POLICIES}
    competing = list(POLICIES)
    for rate in arguments.rates:
        texts = real_sentences(int(rate * arguments.seconds), 1, arguments.sentences)
        encode = checkpoint.tokenizer.encode_source
        sentences = [SourceSentence(encode(text, "en"), options) for text in texts]
        for policy in tuple(competing):
            result = serve(policy, runner, sentences, rate, seed=2)
            print(
                f"{policy:<11} offered {rate:6.1f}/s reached {result.reached:6.1f}/s "
                f"p50 {result.p50 * 1000:8.1f} ms p95 {result.p95 * 1000:8.1f} ms",
                flush=True,
            )
            within = [bound for bound in arguments.bounds_ms if result.p95 * 1000 <= bound]
            best[policy].update(dict.fromkeys(within, rate))
            if not within:
                competing.remove(policy)
    print("sentences/s with p95 within   single   batch   continuous")
    for bound in arguments.bounds_ms:
        single, batch, continuous = (best[p].get(bound, 0) for p in POLICIES)
        print(f"{bound:23.0f} ms {single:8.0f} {batch:7.0f} {continuous:12.0f}")


if __name__ == "__main__":
    main()
