"""Servers as processes of their own, for the benchmarks to talk to."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from benchmarks.sentences import ROOT

HOST, PORT = "127.0.0.1", int(os.environ.get("BENCHMARK_PORT", "8765"))
URL = f"http://{HOST}:{PORT}"
BIN = Path(sys.executable).parent
_POLL_SECONDS = 0.05


@contextlib.contextmanager
def running_server(model: Path, arguments: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Our server, ready; stopped at the end of the block. Its cache is off unless the arguments
    turn it on, because the benchmarks send the same sentences again."""
    own = ["--model", str(model), "--port", str(PORT), "--cache-bytes", "0"]
    command = ["dragoman", "serve", *own, *arguments]
    with running(command, "/health/ready") as server:
        yield server


@contextlib.contextmanager
def running(
    command: Sequence[str],
    ready_path: str,
    environment: Mapping[str, str] | None = None,
    log: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server on PORT that is ready when `ready_path` answers 200; stopped at the end."""
    with socket.socket() as probe:
        if probe.connect_ex((HOST, PORT)) == 0:
            raise RuntimeError(f"something serves port {PORT} already; set BENCHMARK_PORT")
    program = str(BIN / command[0])
    server = subprocess.Popen([program, *command[1:]], stderr=log, cwd=ROOT, env=environment)
    try:
        while True:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"{URL}{ready_path}").close()
                break
            if server.poll() is not None:
                raise RuntimeError(f"the server ended with code {server.returncode}")
            time.sleep(_POLL_SECONDS)
        yield server
    finally:
        server.terminate()
        server.wait(timeout=60)


def memory_mib(pid: int) -> tuple[float, float]:
    """Memory of a process and its children now, where what they share counts once; and at most, if
    each had its most at the same time."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    now = sum(process.memory_full_info().pss for process in processes) / 2**20
    return now, now + sum(_given_back(process.pid) for process in processes)


def _given_back(pid: int) -> float:
    """MiB that a process had more at its most."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    values = dict(line.split(":", 1) for line in lines)
    now, most = (int(values[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return most - now
