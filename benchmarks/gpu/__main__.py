"""Run the rounds in order; the parts of a round side by side, each in a process of its own.

Figures go to a file, a line of JSON each, as they come. A part that fails or takes too long does
not stop the others. What is timed has the machine for itself. Without a GPU each part says so;
`--device cpu` tries the script on a CPU.

    python -m benchmarks.gpu --out build/gpu-check.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.gpu import (
    cores,
    encoder,
    kinds,
    peers,
    processes,
    profiles,
    service,
    soundness,
    speed,
)
from benchmarks.gpu.figures import OUT_VARIABLE, note

Part = Callable[[str], None]
"""What to run on a device."""


class Round(NamedTuple):
    """Parts by name that run side by side, for at most so many seconds; the last round has all that
    is left."""

    limit_seconds: int
    parts: Mapping[str, Part]


SECONDS = 310
"""Of all rounds together."""
ROUNDS = (
    Round(
        45,
        {
            "versions": soundness.versions,
            "tests": soundness.tests,
            "kinds": kinds.kinds,
            "two-models": soundness.two_models,
            "poisoned": soundness.poisoned,
            "crowd": soundness.crowd,
            "soak": soundness.soak,
            "sanitizer": soundness.sanitizer,
            "lost-device": soundness.lost_device,
        },
    ),
    Round(20, {"steps": speed.steps}),
    Round(35, {"throughput": speed.throughput}),
    Round(20, {"real": speed.real}),
    Round(10, {"single": speed.single}),
    Round(20, {"peers": peers.peers}),
    Round(10, {"profile": profiles.profile}),
    Round(10, {"backends": speed.backends}),
    Round(25, {"service": service.service}),
    Round(60, {"processes": processes.processes}),
    Round(10, {"encoder": encoder.encoder}),
    Round(45, {"cores": cores.cores}),
)
PARTS = {name: part for one in ROUNDS for name, part in one.parts.items()}


def run_apart(name: str, device: str, limit: float) -> None:
    """Run a part in a process of its own; note how it ended unless it ended well."""
    if limit < 1:
        note(name, left_out="no time is left")
        return
    command = [sys.executable, "-m", "benchmarks.gpu", "--inside", name, "--device", device]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, told = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        note(name, failed=f"not done after {limit:.0f} s")
    else:
        if process.returncode:
            note(name, failed=f"exit status {process.returncode}", tail=told[-1500:])
    finally:  # what it started would share the GPU with the parts that follow
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_round(one: Round, parts: list[str], device: str, limit: float) -> None:
    """Run the chosen parts of a round side by side."""
    chosen = [name for name in one.parts if name in parts]
    if not chosen:
        return
    with ThreadPoolExecutor(len(chosen)) as threads:
        list(threads.map(lambda name: run_apart(name, device, limit), chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--out", type=Path, default=Path("build/gpu-check.jsonl"))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all rounds together")
    parser.add_argument("--patience", type=float, default=1, help="factor of the rounds' limits")
    parser.add_argument("--inside", choices=list(PARTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        if arguments.device == "cpu":
            torch.set_num_threads(1)  # which small tensors need, beside other processes
        PARTS[arguments.inside](arguments.device)
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    os.environ[OUT_VARIABLE] = str(arguments.out.resolve())
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("no GPU here, nothing is run", flush=True)
        return
    ends = time.monotonic() + arguments.seconds
    for one in ROUNDS:
        left = ends - time.monotonic()
        limit = left if one is ROUNDS[-1] else min(arguments.patience * one.limit_seconds, left)
        run_round(one, arguments.parts, arguments.device, limit)


if __name__ == "__main__":
    main()
