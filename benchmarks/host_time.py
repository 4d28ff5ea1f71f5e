"""Host time of a step and of an admission, with a device that takes no time.

The network, the search's step and the copies of compaction are left out. The rest runs as on a
GPU: slots and rows, tables, what is sent to the device and read from it, results. Sentences have 26
tokens on average, of equal or mixed lengths; a new one takes the place of each that ends. Prints
CPU time of one thread, medians of three rounds: the bound of throughput of any device.

    python -m benchmarks.host_time
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from model.backends.cuda_graphs import GraphedStep
from model.backends.source_encoder import SourceEncoder
from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import RowTable, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features
from model.decoding.step import Outcome
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.runner import Runner

CONFIG = ModelConfig(32000, 32000, 8, 1, 8, 1, 1, max_positions=256)
MEAN_TOKENS = 26
CASES = ((64, 1), (64, 4), (256, 1), (256, 4), (1024, 1))
_ROUNDS = 3


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
        self.codes = torch.zeros(num_slots, dtype=torch.int64)

    def run(self, table: RowTable, shape_of_step: StepShape, features: Features) -> Outcome:
        self._recording_of_step(table, shape_of_step, features)
        return Outcome(self.codes[: table.by_slot.size(0)].clone())


def make_runner(slots: int, beam: int) -> Runner:
    runner = Runner(
        Transformer(CONFIG),
        [0, 1, 2],
        max_slots=slots,
        max_rows=slots * beam,
        max_source_tokens=128,
        max_target_tokens=128,
        max_beam_size=beam,
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


def sentences(count: int, beam: int, rng: random.Random) -> list[SourceSentence]:
    options = DecodingOptions(beam_size=beam)
    lengths = [min(100, max(3, int(rng.lognormvariate(3.1, 0.5)))) for _ in range(count)]
    return [SourceSentence([*rng.choices(range(10, 30000), k=n), 3], options) for n in lengths]


def measure(slots: int, beam: int, is_equal: bool, count: int) -> HostCost:
    rng = random.Random(0)
    runner = make_runner(slots, beam)
    step = runner._step
    assert isinstance(step, NoDevice)
    step.plan(slots)
    waiting = sentences(count, beam, rng)
    first = _first_admission(runner, waiting[:64])
    ends: dict[int, list[int]] = {}
    taken = spent_admitting = 0.0
    num_steps = 0
    while waiting or runner.num_running:
        room = min(runner.num_free_slots, runner.num_free_rows // beam, len(waiting))
        new, waiting = waiting[:room], waiting[room:]
        started = time.thread_time()
        handles = runner.admit(new) if new else []
        admitted = time.thread_time()
        runner._compact()  # as a step begins, so that slots are final
        compacted = time.thread_time()
        for handle in handles:
            life = MEAN_TOKENS if is_equal else max(3, int(rng.lognormvariate(3.1, 0.5)))
            ends.setdefault(num_steps + life, []).append(handle)
        _mark(runner, step, ends.pop(num_steps, []))
        stepped = time.thread_time()
        runner.step()
        taken += time.thread_time() - stepped + compacted - started
        spent_admitting += admitted - started
        num_steps += 1
    return HostCost(taken / num_steps, spent_admitting / num_steps, first)


def _mark(runner: Runner, step: NoDevice, ended: Sequence[int]) -> None:
    step.codes.zero_()
    for handle in ended:
        if handle in runner._running:
            step.codes[runner._allocator.slot(handle)] = 1


def _first_admission(runner: Runner, given: Sequence[SourceSentence]) -> float:
    taken = []
    for _ in range(5):
        started = time.thread_time()
        handles = runner.admit(given)
        taken.append(time.thread_time() - started)
        for handle in handles:
            runner.release(handle)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="about so many a round")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for slots, beam in CASES:
        for is_equal in (True, False):
            count = max(200, slots * arguments.steps // MEAN_TOKENS)
            rounds = [measure(slots, beam, is_equal, count) for _ in range(_ROUNDS)]
            step, admission, first = (
                1000 * statistics.median(values) for values in zip(*rounds, strict=True)
            )
            lengths = "equal" if is_equal else "mixed"
            print(
                f"{slots:5} slots, beam {beam}, {lengths} lengths: {step:.3f} ms a step, of which "
                f"admission {admission:.3f}; 64 sentences at once {first:.2f} ms; at most "
                f"{slots / MEAN_TOKENS * 20 / (step / 1000):,.0f} words/s",
                flush=True,
            )


if __name__ == "__main__":
    main()
