"""The CPU server on more and more cores, in one process and in several; beside it FastAPI around
CTranslate2, where its package is installed. A GPU machine has the cores; the GPU does nothing.

The clients have the last quarter of the cores for themselves.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from benchmarks.closed_loop import closed_loops
from benchmarks.gpu.figures import note
from benchmarks.gpu.server import free_port, running, serve_command
from benchmarks.sentences import real_sentences
from model.backends.native import is_available

_SECONDS = 2.0
_PEER = "benchmarks.peers.ctranslate2_service:create_app"


def cores(device: str) -> None:
    """Sentences a second by cores, processes and beam."""
    every = sorted(os.sched_getaffinity(0))
    note("cores", number=len(every), model=_model_name(), native=is_available())
    most = len(every) - max(1, len(every) // 4)
    with tempfile.TemporaryDirectory() as root:
        has_peer = find_spec("ctranslate2") is not None and _prepared(Path(root))
        for number in (8, 4, 12) if device != "cpu" else (1,):
            if number > most:
                continue
            own, clients = every[:number], every[most:]
            for name, arguments in _topologies(number).items():
                with _ours(own, arguments) as port:
                    _measure("Dragoman", number, name, port, clients)
            if has_peer:
                with _ctranslate2(Path(root), own, max(1, number // 4)) as port:
                    _measure("CTranslate2", number, "workers", port, clients)


def _topologies(number: int) -> dict[str, Sequence[str]]:
    """The arguments of a server by a name for its processes: engines + front ends."""
    counts = [(number // 4, number // 4), (number // 2, number // 4), (number // 2, number // 2)]
    several = {
        f"{engines} + {front_ends}": (
            *("--engines", str(engines)),
            *("--front-ends", str(front_ends)),
        )
        for engines, front_ends in counts
        if front_ends
    }
    return {**several, "one process": ("--one-process", "true")}


def _measure(
    service: str, number: int, processes: str, port: int, own_cores: Sequence[int]
) -> None:
    every = sorted(os.sched_getaffinity(0))
    texts, clients = real_sentences(300, seed=3), 16 * number
    generators = min(len(own_cores), max(1, number // 4))
    os.sched_setaffinity(0, own_cores)
    try:
        for beam in (1, 4):
            run = closed_loops(texts, clients, beam, _SECONDS, port, generators)
            note(
                "cores", service=service, cores=number, processes=processes, clients=clients,
                beam=beam, **asdict(run),
            )  # fmt: skip
    finally:
        os.sched_setaffinity(0, every)


@contextlib.contextmanager
def _ours(own_cores: Sequence[int], arguments: Sequence[str]) -> Iterator[int]:
    port = free_port()
    with running(serve_command("cpu", port, *arguments), port, "/health/ready", own_cores):
        yield port


@contextlib.contextmanager
def _ctranslate2(root: Path, every: Sequence[int], processes: int) -> Iterator[int]:
    """One uvicorn with a translator on each core, or several workers that share the cores."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--factory", _PEER, "--port", str(port)]
    command += ["--log-level", "error", "--timeout-graceful-shutdown", "1"]
    command += ["--workers", str(processes)] if processes > 1 else []
    variables = {
        "PEER_MODEL": str(root),
        "PEER_TRANSLATORS": str(len(every) // processes),
        "PEER_THREADS": "1",
    }
    with running(command, port, "/ready", every, variables):
        if processes > 1:
            time.sleep(3)  # until the other workers have loaded it too
        yield port


def _prepared(root: Path) -> bool:
    from benchmarks.peers.shapes import prepare

    try:
        prepare("bundled", root, None, 1)
    except Exception as error:
        note("cores", left_out=f"CTranslate2: {type(error).__name__}: {error}"[:300])
        return False
    return True


def _model_name() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
