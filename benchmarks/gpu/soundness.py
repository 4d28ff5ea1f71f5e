"""Whether it is right: versions, tests, two models at once, crowds, memory, a lost device."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import torch

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import (
    graphed_step,
    half,
    random_model,
    random_sentences,
    real_runner,
    real_sentences,
    runner_of,
    shapes_for,
)
from benchmarks.provenance import commit
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner

_ATTENTION = {-1: "error", 0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable"}


def versions(device: str) -> None:
    """What is here, and which attention PyTorch chooses for our shapes."""
    values: dict[str, object] = {"torch": torch.__version__, "cuda": torch.version.cuda}
    if device != "cpu":
        values |= {
            "gpu": torch.cuda.get_device_name(device),
            "capability": torch.cuda.get_device_capability(device),
            "memory_gib": torch.cuda.mem_get_info(device)[1] / 2**30,
        }
    note("versions", python=sys.version.split()[0], commit=commit(), **values)
    dtype = torch.float16 if device != "cpu" else torch.float32
    for what, rows, heads, queries, keys, width in (
        ("encoder", 16, 8, 30, 30, 64),
        ("decoder", 256, 8, 1, 64, 64),
        ("memory", 64, 8, 4, 32, 64),
        ("head of 128", 64, 8, 1, 64, 128),
    ):
        query = torch.zeros(rows, heads, queries, width, device=device, dtype=dtype)
        key = torch.zeros(rows, heads, keys, width, device=device, dtype=dtype)
        mask = torch.ones(rows, 1, 1, keys, device=device, dtype=torch.bool)
        choice = torch._fused_sdp_choice(query, key, key, mask)
        note("attention", shape=what, chosen=_ATTENTION.get(choice, str(choice)))


def tests(device: str) -> None:
    """The tests that need a GPU."""
    if find_spec("pytest") is None:
        note("tests", left_out="pytest is not installed")
        return
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "--rootdir", ".", "--import-mode", "importlib"]
    ended = subprocess.run(
        [*command, "tests/model/backends/test_gpu.py"], capture_output=True, text=True, check=False
    )
    note("tests", exit_status=ended.returncode, tail=ended.stdout[-1500:])


def two_models(device: str) -> None:
    """Two runners record and translate in two threads, some of the time each a new one."""
    seconds = 20 if device != "cpu" else 1
    config = next(iter(shapes_for(device).values()))
    faults: list[str] = []
    rounds = [0, 0]

    def work(place: int) -> None:
        try:
            model = random_model(config, device, seed=place)
            given = random_sentences(config, 24, beam=2, target=20)
            expected = _ids(runner_of(model, 16, 2, "float32", "eager"), given)
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                runner = runner_of(model, 16, 2, "float32")
                for _ in range(4):
                    same = sum(a == b for a, b in zip(_ids(runner, given), expected, strict=True))
                    if same < 0.9 * len(given):
                        faults.append(f"model {place}: only {same} of {len(given)} alike")
                    rounds[place] += 1
        except Exception as error:
            faults.append(f"model {place}: {type(error).__name__}: {error}"[:300])

    threads = [threading.Thread(target=work, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    note("two models", rounds=rounds, faults=faults[:5])


def poisoned(device: str) -> None:
    """A sentence whose numbers overflow fails alone."""
    config = next(iter(shapes_for(device).values()))
    model = random_model(config, device)
    model.src_embedding.tokens.weight.data[11] = float("inf")
    good = SourceSentence([12, 13, 14, config.eos_id], DecodingOptions(beam_size=4, max_length=12))
    bad = SourceSentence([11, *range(12, 30), config.eos_id], good.options)
    alone = _ids(runner_of(model, 1, 4, half(device)), [good])
    runner = runner_of(model, 1, 4, half(device))
    failed = translate_all(runner, [bad])[0].error
    after = [_ids(runner, [good]) == alone for _ in range(4)]
    note("poisoned", failed=failed, later_sentences_are_right=after)


def crowd(device: str) -> None:
    """How many of 100 real sentences are translated otherwise in a crowd than alone, and otherwise
    than in float32."""
    precisions: list[Precision] = ["float32", "float16", "bfloat16"]
    count = 100 if device != "cpu" else 6
    for beam in (1, 4):
        given = real_sentences(count, beam)
        exact: list[tuple[int, ...]] = []
        for precision in precisions if device != "cpu" else precisions[:1]:
            together = _ids(real_runner(device, 64, precision), given)
            one = real_runner(device, 1, precision)
            alone = [_ids(one, [sentence])[0] for sentence in given]
            exact = exact or alone
            note(
                "crowd", beam=beam, precision=precision, sentences=len(given),
                otherwise_in_a_crowd=_different(together, alone),
                otherwise_than_float32=_different(alone, exact),
            )  # fmt: skip


def soak(device: str) -> None:
    """Sentences that join, leave and are cancelled: slots, memory and recordings stay."""
    config = next(iter(shapes_for(device).values()))
    runner = runner_of(random_model(config, device), 32, 4, half(device))
    started = time.perf_counter()
    runner.warm_up([DecodingOptions(beam_size=beam) for beam in (1, 4)])
    graphed = graphed_step(runner)
    note(
        "recording", seconds=time.perf_counter() - started, recorded=graphed.num_recorded,
        refused=graphed.num_refused,
    )  # fmt: skip
    known, rng = len(graphed._recordings), random.Random(3)
    plain = [one for beam in (1, 4) for one in random_sentences(config, 100, beam)]
    given = [*plain, *(dataclasses.replace(one, is_streamed=True) for one in plain)]
    held: list[int] = []
    ends = time.monotonic() + (15 if device != "cpu" else 1)
    running: set[int] = set()
    num_steps = 0
    while time.monotonic() < ends:
        if runner.num_free_slots and rng.random() < 0.5:
            running.update(runner.admit([rng.choice(given)]))
        running.difference_update(f.handle for f in runner.step().finished)
        if running and rng.random() < 0.1:
            handle = rng.choice(sorted(running))
            running.remove(handle)
            runner.release(handle)
        num_steps += 1
        if device != "cpu" and num_steps % 500 == 0:
            held.append(torch.cuda.memory_reserved(device))
    note(
        "soak", steps=num_steps, new_recordings=len(graphed._recordings) - known,
        reserved_mib=[value / 2**20 for value in (held[:1] + held[-1:])],
    )  # fmt: skip


_OWN_KERNELS = (
    *("--report-api-errors", "no"),  # cuda-bindings asks for functions that a driver lacks
    *("--kernel-name", "kns=rank", "--kernel-name", "kns=advance", "--kernel-name", "kns=reorder"),
)
_SANITIZED = """
from benchmarks.gpu.kinds import kinds_of
from benchmarks.gpu.models import TINY, random_model, runner_of
from model.offline import translate_all
runner = runner_of(random_model(TINY, "cuda"), 8, 4, "float16", longest=32)
for sentences in kinds_of(TINY, 8, 12).values():
    translate_all(runner, sentences)
"""


def sanitizer(device: str) -> None:
    """Whether NVIDIA's checker finds a bad access or a race in our kernels, with a small model."""
    if device == "cpu" or shutil.which("compute-sanitizer") is None:
        note("sanitizer", left_out="compute-sanitizer is not here")
        return
    for tool in ("memcheck", "racecheck"):
        command = ["compute-sanitizer", "--tool", tool, *_OWN_KERNELS]
        command += [sys.executable, "-c", _SANITIZED]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        note("sanitizer", tool=tool, exit_status=ended.returncode, tail=ended.stdout[-600:])


_LOST = """
import asyncio, sys, torch
from benchmarks.gpu.models import *
from service.engine.engine import Engine, EngineLimits
from service.observability.metrics import Metrics
device, config = "cuda", SHAPES["small"]
runner = runner_of(random_model(config, device), 4, 4, "float16")
encode = runner._decoder._network.encode
def broken(*given):
    torch.zeros(2, device=device)[torch.full((1,), 5, device=device)]
    encode(*given)
async def main():
    engine = Engine([lambda: runner], Metrics().of_model("m"), EngineLimits(99, 9999, 999))
    engine.start()
    given = random_sentences(config, 1, 4)
    print("before:", (await engine.translate(given))[0].error, flush=True)
    runner._decoder._network.encode = broken
    print("during:", (await engine.translate(given))[0].error, flush=True)
    await asyncio.sleep(20)
asyncio.run(main())
"""


def lost_device(device: str) -> None:
    """A device-side assertion: requests are answered and the process ends with status 70. Last,
    because the GPU may need a moment after it."""
    if device == "cpu":
        note("lost device", left_out="only a GPU can be lost; the logic is tested without one")
        return
    if find_spec("prometheus_client") is None:
        note("lost device", left_out="prometheus_client is not installed")
        return
    ended = subprocess.run(
        [sys.executable, "-c", _LOST], capture_output=True, text=True, timeout=40, check=False
    )
    last = ended.stderr.strip().splitlines()[-1:]
    note("lost device", exit_status=ended.returncode, answers=ended.stdout.split("\n"), said=last)


def _ids(runner: Runner, given: list[SourceSentence]) -> list[tuple[int, ...]]:
    results = translate_all(runner, given)
    return [tuple(r.hypotheses[0].ids) if r.hypotheses else () for r in results]


def _different(some: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> int:
    return sum(one != other for one, other in zip(some, others, strict=True))
