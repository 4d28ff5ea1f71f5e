"""What preemption costs, counted: the same clients of long sentences with and without it.

Closed-loop clients send texts of several long sentences, and short ones come at fixed moments; or,
with `--mixed`, sentences of every length, and first all of these are translated by one runner, the
longest first ("alone"). Two batch loops with real runners, one thread each, serve them one call at
a time; a clock of modelled costs says who is next and what has arrived. So each run of a schedule
makes the same calls whatever else the machine does, and of each call the quickest of several runs
counts, in CPU time.

    python -m benchmarks.scheduling_work --rounds 3
    python -m benchmarks.scheduling_work --rounds 3 --mixed --clients 64
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.short_among_long import SHORT, long_texts
from model.backends.selection import prepare, resolve_precision
from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.sentence import SourceSentence, StepResult
from model.decoding.step_cost import StepCost
from model.offline import translate_all
from model.runner import Runner
from service.engine.admission import AdmissionControl
from service.engine.batch_loop import BatchLoop
from service.engine.interfaces import SourceEncoder
from service.engine.scheduler import Scheduler
from service.engine.sentence_task import EngineRequest, SentenceTask
from service.engine.step_policy import StepPolicy
from service.observability.metrics import Metrics
from service.translation.language.segmentation import cut_text

SCHEDULES = {"first-come": False, "short-first": True}
MEASURED = StepCost(100e-6, 19e-6, 0.05e-6, 330e-6, 25e-6)
"""Seconds on one core of a Xeon with AMX, the bundled zh-en in int8; the host's work included."""
_SECONDS_BETWEEN_SHORT = 0.065
_NUM_WORKERS = 2


@dataclass(frozen=True)
class Call:
    """One call: what kind, its size in rows or source tokens, and its CPU seconds."""

    kind: str
    size: int
    seconds: float


class CountingRunner(Runner):
    """Keeps its calls, and a clock that their modelled costs move."""

    calls: list[Call]
    now: float

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        started = time.thread_time()
        handles = super().admit(sentences)
        seconds = time.thread_time() - started
        num_tokens = sum(len(sentence.ids) for sentence in sentences)
        self.now += MEASURED.of_encoding(num_tokens)
        self.calls.append(Call("encode", num_tokens, seconds))
        return handles

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        taken = list(self._batch) if handles is None else handles
        num_rows = sum(self._batch[handle].source.options.beam_size for handle in taken)
        started = time.thread_time()
        result = super().step(handles)
        seconds = time.thread_time() - started
        self.now += MEASURED.of_step(num_rows, 0)
        self.calls.append(Call("step", num_rows, seconds))
        return result


def mixed_texts() -> list[str]:
    """Texts of every length, as of the other benchmarks of load."""
    return real_sentences(400, seed=3)


def sentences_of(text: str, encoder: SourceEncoder, checkpoint: Checkpoint) -> list[SourceSentence]:
    """What the network gets of a text."""
    limit = checkpoint.info.source_limit(None)
    return [
        SourceSentence(encoder.ids(piece.text), checkpoint.info.decoding)
        for piece in cut_text(text, "zh", limit, encoder.count)
        if piece.is_sentence
    ]


@dataclass
class Served:
    """Requests that have ended: whether each was short, and its modelled seconds."""

    seconds: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    num_characters: int = 0


class Clients:
    """The open requests of closed-loop clients, and short ones at fixed moments."""

    def __init__(
        self, encoder: SourceEncoder, checkpoint: Checkpoint, count: int, *, is_mixed: bool
    ) -> None:
        self._encoder, self._checkpoint = encoder, checkpoint
        self._texts = itertools.cycle(mixed_texts()) if is_mixed else long_texts(0)
        self._loop = asyncio.new_event_loop()
        self._due = [(0.0, next(self._texts)) for _ in range(count)]
        self._next_short = math.inf if is_mixed else _SECONDS_BETWEEN_SHORT
        self._open: dict[EngineRequest, str] = {}
        self.served = Served()

    def arrivals(self, now: float) -> Iterator[EngineRequest]:
        """The requests that are due."""
        while self._next_short <= now:
            self._due.append((self._next_short, SHORT))
            self._next_short += _SECONDS_BETWEEN_SHORT
        due, self._due = self._due, [one for one in self._due if one[0] > now]
        for moment, text in due:
            if moment <= now:
                yield self._request(text, moment)

    def _request(self, text: str, moment: float) -> EngineRequest:
        sentences = sentences_of(text, self._encoder, self._checkpoint)
        request = EngineRequest(self._loop.create_future(), moment, len(sentences))
        request.add(sentences)
        self._open[request] = text
        return request

    def end(self, request: EngineRequest, now: float) -> None:
        """A request is answered: a client of long ones sends its next."""
        text = self._open.pop(request)
        is_short = text == SHORT
        self.served.seconds[is_short].append(now - request.arrived_seconds)
        self.served.num_characters += len(text)
        if not is_short:
            self._due.append((now, next(self._texts)))


@dataclass
class Run:
    """What one run did, worker after worker."""

    calls: list[Call]
    host_seconds: list[float]
    """Of each iteration of a batch loop, without its calls."""
    served: Served
    now: float

    def quicker(self, other: Run) -> Run:
        """The same run with the lesser of both times of each call."""
        pairs = zip(self.calls, other.calls, strict=True)
        calls = [min(pair, key=lambda call: call.seconds) for pair in pairs]
        assert [c.size for c in self.calls] == [c.size for c in other.calls]
        host = list(map(min, self.host_seconds, other.host_seconds))
        return Run(calls, host, self.served, self.now)

    def __str__(self) -> str:
        steps, encodings = (
            [call for call in self.calls if call.kind == kind] for kind in ("step", "encode")
        )
        step_seconds, encode_seconds = (
            sum(c.seconds for c in calls) for calls in (steps, encodings)
        )
        num_rows, num_tokens = (sum(call.size for call in calls) for calls in (steps, encodings))
        host_seconds = sum(self.host_seconds)
        cpu = step_seconds + encode_seconds + host_seconds
        parts = [
            f"{len(steps)} steps of {num_rows / len(steps):.0f} rows, "
            f"{step_seconds / num_rows * 1e6:.1f} us a row",
            f"{len(encodings)} encodings of {num_tokens / len(encodings):.0f} tokens, "
            f"{encode_seconds / num_tokens * 1e6:.1f} us a token",
            f"host {host_seconds / len(steps) * 1e6:.0f} us a step",
            f"{cpu / num_rows * 1e6:.2f} us of CPU a row in all, "
            f"{cpu / len(self.served.seconds[False]) * 1e3:.2f} ms a text",
            f"{self.served.num_characters / cpu:.0f} characters a CPU second, "
            f"{self.served.num_characters / self.now:.0f} a modelled second",
        ]
        for is_short, name in ((True, "short"), (False, "others")):
            if not (values := self.served.seconds[is_short]):
                continue
            parts.append(
                f"{name}: {len(values)}, p50 {percentile(values, 50) * 1000:.1f} "
                f"p95 {percentile(values, 95) * 1000:.1f} modelled ms"
            )
        return "\n    ".join(parts)


class Bench:
    """Two runners, used by one run after the other."""

    def __init__(self, model: Path) -> None:
        self.checkpoint = checkpoint = load_checkpoint(model)
        limit = checkpoint.info.source_limit(None)
        self.encoder = SourceEncoder(checkpoint.tokenizer, "zh", "en", limit)
        control_ids, precision = (
            checkpoint.tokenizer.control_ids(),
            resolve_precision("auto", "cpu"),
        )
        shared = prepare(checkpoint.model, control_ids, precision, backend=None)
        self.runners = [
            CountingRunner(
                shared,
                control_ids,
                max_slots=64 // _NUM_WORKERS,
                max_rows=256 // _NUM_WORKERS,
                max_source_tokens=limit,
                max_target_tokens=256,
                precision=precision,
                byte_ids=checkpoint.tokenizer.byte_ids(),
                copied_ids=checkpoint.tokenizer.copied_ids(),
            )
            for _ in range(_NUM_WORKERS)
        ]

    def alone(self) -> str:
        """CPU milliseconds a text of `mixed_texts` with nobody waiting, on one thread."""
        texts, (runner, _) = mixed_texts(), self.runners
        sentences = [
            one for text in texts for one in sentences_of(text, self.encoder, self.checkpoint)
        ]
        runner.share_cores(_NUM_WORKERS)
        runner.calls, runner.now = [], 0.0
        started = time.thread_time()
        translate_all(runner, sentences)
        took = time.thread_time() - started
        return f"alone: {took / len(texts) * 1e3:.2f} ms of CPU a text"

    def run(
        self, is_preemptive: bool, num_clients: int, until: float, *, is_mixed: bool = False
    ) -> Run:
        for runner in self.runners:
            runner.calls, runner.now = [], 0.0
        loops = [self._batch_loop(runner, is_preemptive) for runner in self.runners]
        loads, places = [0] * len(loops), dict[SentenceTask, int]()
        clients = Clients(self.encoder, self.checkpoint, num_clients, is_mixed=is_mixed)
        host: list[float] = []
        while (now := min(runner.now for runner in self.runners)) < until:
            index = next(i for i, runner in enumerate(self.runners) if runner.now == now)
            runner, loop = self.runners[index], loops[index]
            for request in clients.arrivals(now):
                if not is_preemptive:
                    request.expected_work = 0
                for task in sorted(request.tasks, key=lambda task: task.rank):
                    place = loads.index(min(loads))
                    loads[place] += task.num_rows
                    loops[place].add([task])
                    places[task] = place
            if loop.is_idle:
                runner.now += 100e-6
                continue
            num_calls = len(runner.calls)
            started = time.thread_time()
            loop.step(_NUM_WORKERS)
            took = time.thread_time() - started
            host.append(took - sum(call.seconds for call in runner.calls[num_calls:]))
            for task, update in loop.take_updates():
                if update.outcome is None:
                    continue
                request = task.request
                loads[places.pop(task)] -= task.num_rows
                request.num_unsettled -= 1
                if not request.num_unsettled:
                    clients.end(request, runner.now)
        for runner in self.runners:
            for handle in list(runner._batch):
                runner.release(handle)
        calls = [call for runner in self.runners for call in runner.calls]
        return Run(calls, host, clients.served, now)

    def _batch_loop(self, runner: Runner, is_preemptive: bool) -> BatchLoop:
        return BatchLoop(
            runner,
            Scheduler(1024),
            AdmissionControl(10**9, 10**9),
            Metrics().of_model("benchmark"),
            is_preemptive,
            lambda _: StepPolicy(MEASURED),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=4.0, help="of the modelled clock")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mixed", action="store_true", help="sentences of every length")
    arguments = parser.parse_args()
    bench = Bench(arguments.model)
    runs: dict[str, Run] = {}
    for _ in range(arguments.rounds):
        if arguments.mixed:
            print(bench.alone(), flush=True)
        for name, is_preemptive in SCHEDULES.items():
            run = bench.run(
                is_preemptive, arguments.clients, arguments.seconds, is_mixed=arguments.mixed
            )
            runs[name] = runs[name].quicker(run) if name in runs else run
    for name, run in runs.items():
        print(f"{name}: {run}")


if __name__ == "__main__":
    main()
