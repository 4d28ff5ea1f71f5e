"""Host time of a step and of an admission, with a device that takes no time.

The network, the search's step and the copies of compaction are left out. The rest runs as on a
GPU: slots and rows, tables, what is sent to the device and read from it, results. The network's
weights are random and do not matter. Sentences have 26 tokens on average, of equal or mixed
lengths; a new one takes the place of each that ends. Prints CPU time of one thread, medians of
several rounds: the bound of throughput of any device.

    python -m benchmarks.host_time
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from model.backends.cuda_graphs import GraphedStep
from model.backends.source_encoder import SourceEncoder
from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import BatchRows, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence, Term, TermForm
from model.decoding.slot_options import Features
from model.decoding.step import Outcome
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.runner import Runner

CONFIG = ModelConfig(32000, 32000, 8, 1, 8, 1, 1, max_positions=256)
MEAN_TOKENS = 26
LONGEST = 128
_WIDTH = 4
"""Rows of a slot where beams differ, on average."""


class Kind(NamedTuple):
    """What the sentences of a case ask for. `beams`: each takes one of these."""

    name: str
    beams: tuple[int, ...]
    is_equal: bool = False
    is_streamed: bool = False
    num_prefix_tokens: int = 0
    has_terms: bool = False

    @property
    def rows_a_slot(self) -> int:
        return _WIDTH if len(self.beams) > 1 else self.beams[0]


GREEDY, BEAM = Kind("mixed lengths", (1,)), Kind("mixed lengths", (4,))
SPECIAL = (
    Kind("streamed", (4,), is_streamed=True),
    Kind("prefix", (4,), num_prefix_tokens=2),
    Kind("two terms", (4,), has_terms=True),
    Kind("mixed lengths", (1, 2, 4, 8)),
)
CASES = (
    *(
        (slots, kind)
        for slots in (64, 256)
        for kind in (
            *(GREEDY._replace(name="equal lengths", is_equal=True), GREEDY),
            *(BEAM._replace(name="equal lengths", is_equal=True), BEAM),
            *SPECIAL,
        )
    ),
    (1024, GREEDY._replace(name="equal lengths", is_equal=True)),
    (1024, GREEDY),
    (1024, GREEDY._replace(name="streamed", is_streamed=True)),
)


class HostCost(NamedTuple):
    """CPU seconds of a step with the admissions before it, of these alone, and of one that fills
    64 slots."""

    step: float
    admission: float
    first_admission: float


class NoNetwork(EagerNetwork):
    """Sends to the device what the network would, and computes nothing."""

    def clear_places(self, slots: torch.Tensor, rows: torch.Tensor) -> None:
        pass

    def move_rows(self, targets: torch.Tensor, sources: torch.Tensor) -> None:
        pass

    def move_slots(self, targets: torch.Tensor, sources: torch.Tensor) -> None:
        pass


class NoEncoder(SourceEncoder):
    """Likewise."""

    def encode(self, table: torch.Tensor) -> None:
        pass


class NoDevice(GraphedStep):
    """Prepares steps as recorded ones are, and ends sentences as planned."""

    def plan(self, num_slots: int) -> None:
        self.codes, self.ages = (torch.zeros(num_slots, dtype=torch.int64) for _ in range(2))
        self._tokens = torch.full((num_slots, CONFIG.max_positions), 7)

    def outcome(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> Outcome:
        self._recording_of_step(batch, shape_of_step, features)
        n_slots = len(batch.view.slots)
        codes = self.codes[:n_slots].clone()
        if not features.has_streams:
            return Outcome(codes)
        tokens = self._tokens[:n_slots, : shape_of_step.target]
        return Outcome(codes, self.ages[:n_slots].clone(), tokens)


def make_runner(slots: int, kind: Kind) -> Runner:
    runner = Runner(
        Transformer(CONFIG),
        [0, 1, 2],
        max_slots=slots,
        max_rows=slots * kind.rows_a_slot,
        max_source_tokens=LONGEST,
        max_target_tokens=LONGEST,
        max_beam_size=max(kind.beams),
        backend="graphs",
    )
    assert isinstance(runner._network, EagerNetwork)
    assert isinstance(runner._step, GraphedStep)
    runner._network.__class__ = NoNetwork
    runner._network._encoder.__class__ = NoEncoder
    runner._step.__class__ = NoDevice
    runner._search.copy_slots = lambda targets, sources: None  # type: ignore[method-assign]
    found = runner._search.finished
    found.score[:, 0], found.length[:, 0], found.tokens[:] = -1.0, MEAN_TOKENS, 7
    return runner


def sentences(count: int, kind: Kind, rng: random.Random) -> Iterator[SourceSentence]:
    options = [DecodingOptions(beam_size=beam) for beam in kind.beams]
    for _ in range(count):
        length = min(100, max(3, int(rng.lognormvariate(3.1, 0.5))))
        ids = [*rng.choices(range(10, 30000), k=length), 3]
        prefix = rng.choices(range(10, 30000), k=kind.num_prefix_tokens)
        terms = [Term((TermForm((rng.randrange(10, 30000),)),)) for _ in range(2 * kind.has_terms)]
        chosen = rng.choice(options)
        yield SourceSentence(ids, chosen, kind.is_streamed, prefix, terms=tuple(terms))


def measure(slots: int, kind: Kind, count: int) -> HostCost:
    rng = random.Random(0)
    runner = make_runner(slots, kind)
    step = runner._step
    assert isinstance(step, NoDevice)
    step.plan(slots)
    waiting = deque(sentences(count, kind, rng))
    first = _first_admission(runner, list(waiting)[:64])
    ends: dict[int, list[int]] = {}
    taken = spent_admitting = 0.0
    num_steps = 0
    while waiting or runner.num_running:
        new = _next(runner, waiting)
        started = time.thread_time()
        handles = runner.admit(new) if new else []
        admitted = time.thread_time()
        runner._compact()  # as a step begins, so that slots are final
        compacted = time.thread_time()
        for handle in handles:
            life = MEAN_TOKENS if kind.is_equal else _life(rng)
            ends.setdefault(num_steps + life, []).append(handle)
        _mark(runner, step, ends.pop(num_steps, []))
        stepped = time.thread_time()
        runner.step()
        taken += time.thread_time() - stepped + compacted - started
        spent_admitting += admitted - started
        num_steps += 1
    return HostCost(taken / num_steps, spent_admitting / num_steps, first)


def _life(rng: random.Random) -> int:
    """Steps of a sentence; with those until its end is read, no more than its table has tokens."""
    return min(LONGEST - 4, max(3, int(rng.lognormvariate(3.1, 0.5))))


def _next(runner: Runner, waiting: deque[SourceSentence]) -> list[SourceSentence]:
    """The first of those that wait, as many as fit."""
    new: list[SourceSentence] = []
    num_slots, num_rows = runner.num_free_slots, runner.num_free_rows
    while waiting and len(new) < num_slots and waiting[0].options.beam_size <= num_rows:
        new.append(waiting.popleft())
        num_rows -= new[-1].options.beam_size
    return new


def _mark(runner: Runner, step: NoDevice, ended: Sequence[int]) -> None:
    """Plan the next outcome: who ends, and one more token of each stream."""
    step.codes.zero_()
    for handle in ended:
        if handle in runner._batch:
            step.codes[runner._batch.slot(handle)] = 1
    places = [runner._batch.slot(handle) for handle in runner._batch]
    ages = [runner._batch.num_steps - runner._batch[handle].first_step for handle in runner._batch]
    step.ages[places] = torch.tensor(ages)


def _first_admission(runner: Runner, given: Sequence[SourceSentence]) -> float:
    taken = []
    for _ in range(5):
        started = time.thread_time()
        handles = runner.admit(given)
        taken.append(time.thread_time() - started)
        for handle in handles:
            runner.release(handle)
    return statistics.median(taken)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="about so many a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slots", type=int, help="only cases of so many slots")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"commit {_commit()}, torch {torch.__version__}, random weights", flush=True)
    print("| slots | beam | sentences | ms a step | of which admission | 64 at once |")
    print("|---|---|---|---|---|---|")
    for slots, kind in CASES:
        if arguments.slots not in (None, slots):
            continue
        count = max(200, slots * arguments.steps // MEAN_TOKENS)
        rounds = [measure(slots, kind, count) for _ in range(arguments.rounds)]
        medians = (1000 * statistics.median(values) for values in zip(*rounds, strict=True))
        step, admission, first = medians
        beams = "1 to 8" if len(kind.beams) > 1 else kind.beams[0]
        print(
            f"| {slots:,} | {beams} | {kind.name} | {step:.3f} | {admission:.3f} | {first:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
