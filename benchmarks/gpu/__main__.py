"""Run the parts in order, each in a process and with a time limit of its own.

Figures go to a file, a line of JSON each, as they come. A part that fails or takes too long does
not stop the next. Without a GPU each part says so; `--device cpu` tries the script on a CPU.

    python -m benchmarks.gpu --out build/gpu-check.jsonl
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.gpu import encoder, kinds, service, soundness, speed
from benchmarks.gpu.figures import OUT_VARIABLE, note


class Part(NamedTuple):
    """What to run on a device, and for at most how many seconds."""

    run: Callable[[str], None]
    limit_seconds: int


PARTS = {
    "versions": Part(soundness.versions, 30),
    "tests": Part(soundness.tests, 60),
    "kinds": Part(kinds.kinds, 40),
    "encode": Part(speed.encode, 25),
    "encoder": Part(encoder.encoder, 25),
    "recording": Part(speed.recording, 40),
    "replay": Part(speed.replay, 50),
    "throughput": Part(speed.throughput, 45),
    "profile": Part(speed.profile, 25),
    "service": Part(service.service, 75),
    "two-models": Part(soundness.two_models, 45),
    "poisoned": Part(soundness.poisoned, 20),
    "crowd": Part(soundness.crowd, 50),
    "soak": Part(soundness.soak, 20),
    "lost-device": Part(soundness.lost_device, 40),
}


def run_apart(name: str, device: str, most_seconds: float, patience: float = 1.0) -> None:
    """Run a part in a process of its own; note how it ended unless it ended well."""
    limit = min(patience * PARTS[name].limit_seconds, most_seconds)
    if limit < 1:
        note(name, left_out="no time is left")
        return
    command = [sys.executable, "-m", "benchmarks.gpu", "--inside", name, "--device", device]
    try:
        ended = subprocess.run(
            command, stderr=subprocess.PIPE, text=True, timeout=limit,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        note(name, failed=f"not done after {limit:.0f} s")
        return
    if ended.returncode:
        note(name, failed=f"exit status {ended.returncode}", tail=ended.stderr[-1500:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--out", type=Path, default=Path("build/gpu-check.jsonl"))
    parser.add_argument("--seconds", type=float, default=590, help="for all parts together")
    parser.add_argument("--patience", type=float, default=1, help="factor of the parts' limits")
    parser.add_argument("--inside", choices=list(PARTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        if arguments.device == "cpu":
            torch.set_num_threads(1)  # which small tensors need, beside other processes
        PARTS[arguments.inside].run(arguments.device)
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    os.environ[OUT_VARIABLE] = str(arguments.out.resolve())
    ends = time.monotonic() + arguments.seconds
    for name in arguments.parts:
        if arguments.device == "cuda" and not torch.cuda.is_available():
            print(f"{name}: no GPU here, not run", flush=True)
        else:
            run_apart(name, arguments.device, ends - time.monotonic(), arguments.patience)


if __name__ == "__main__":
    main()
