"""The CPU server on more and more cores, in one process and in several; beside it FastAPI around
CTranslate2, where its package is installed. A GPU machine has the cores; the GPU does nothing.

The clients have the last core for themselves, unless the servers take all.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from benchmarks.closed_loop import closed_loop
from benchmarks.gpu.figures import note
from benchmarks.gpu.server import free_port, running, serve_command
from benchmarks.sentences import real_sentences
from model.backends.native import is_available

_SECONDS = 2.0
_PEER = "benchmarks.peers.ctranslate2_service:create_app"


def cores(device: str) -> None:
    """Sentences a second by cores, processes and beam; the most telling cases first."""
    every = sorted(os.sched_getaffinity(0))
    note("cores", number=len(every), model=_model_name(), native=is_available())
    most = len(every)
    cases = [(most, most), (most, most // 4), (4, 4), (most, most // 2), (4, 1), (8, 8)]
    cases += [(most, 1), (1, 1), (8, 1)]
    cases = cases if device != "cpu" else [(1, 1), (2, 2)]
    with tempfile.TemporaryDirectory() as root:
        has_peer = find_spec("ctranslate2") is not None and _prepared(Path(root))
        for number, processes in dict.fromkeys(cases):
            if number > most:
                continue
            groups = _divided(every[:number], processes)
            with _ours(groups) as ports:
                _measure("Dragoman", number, processes, ports)
            if has_peer and (number, processes) in ((most, most // 4), (most, 1), (1, 1)):
                with _ctranslate2(Path(root), every[:number], processes) as ports:
                    _measure("CTranslate2", number, processes, ports)


def _measure(name: str, number: int, processes: int, ports: Sequence[int]) -> None:
    every = sorted(os.sched_getaffinity(0))
    texts, clients = real_sentences(300, seed=3), max(64, 16 * number)
    if number < len(every):
        os.sched_setaffinity(0, every[-1:])
    try:
        for beam in (1, 4):
            closed_loop(texts, clients, beam, _SECONDS / 4, ports)
            run = closed_loop(texts, clients, beam, _SECONDS, ports)
            note(
                "cores", service=name, cores=number, processes=processes, clients=clients,
                beam=beam, **asdict(run),
            )  # fmt: skip
    finally:
        os.sched_setaffinity(0, every)


def _divided(every: Sequence[int], number: int) -> list[Sequence[int]]:
    size = len(every) // number
    return [every[first : first + size] for first in range(0, size * number, size)]


@contextlib.contextmanager
def _ours(groups: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """A server on each group of cores; they start side by side -> their ports."""
    ports = [free_port() for _ in groups]
    servers = [
        running(serve_command("cpu", port), port, "/health/ready", own)
        for port, own in zip(ports, groups, strict=True)
    ]
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(servers)) as threads:
        list(threads.map(stack.enter_context, servers))
        yield ports


@contextlib.contextmanager
def _ctranslate2(root: Path, every: Sequence[int], processes: int) -> Iterator[list[int]]:
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
        yield [port]


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
