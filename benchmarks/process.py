"""A server process with both bundled models, a database and a log, for long and for rude tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.sentences import ROOT

MODELS = (ROOT / "checkpoints" / "zh-en", ROOT / "checkpoints" / "en-de")
HOST = "127.0.0.1"
_START_SECONDS = 300.0
_END_SECONDS = 180.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class ServerProcess:
    """A server that runs, and where it logs."""

    popen: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/health/ready", timeout=10).status_code == 200
        return False

    def wait_until_ready(self, seconds: float = _START_SECONDS) -> float:
        """-> seconds until it was. Raises RuntimeError."""
        started = time.monotonic()
        while not self.is_ready():
            if self.popen.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-2000:]}")
            if time.monotonic() - started > seconds:
                raise RuntimeError(f"the server is not ready after {seconds} s")
            time.sleep(_POLL_SECONDS)
        return time.monotonic() - started

    def stop(self) -> int:
        """SIGTERM -> the exit code."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(_END_SECONDS)

    def errors(self) -> list[str]:
        """Lines of the log that are worse than a warning, and what is no log line."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        harmless = ('"level":"info"', '"level":"warning"', '"level":"debug"')
        return [line for line in lines if not any(mark in line for mark in harmless)]


@contextlib.contextmanager
def server_process(
    log: Path,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    module: str | None = None,
    models: Sequence[Path] = MODELS,
) -> Iterator[ServerProcess]:
    """Started, not yet ready; killed at the end if it still runs.

    `prefix`: a command that starts the server's; `module`: runs in place of dragoman.
    """
    port = _free_port()
    own = ["--port", str(port), "--log-format", "json", "--log-level", "warning"]
    loaded = [f"--model={model}" for model in models]
    dragoman = [str(Path(sys.executable).with_name("dragoman"))]
    if module is not None:
        dragoman = [sys.executable, "-m", module]
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DRAGOMAN_") or name == "DRAGOMAN_INSTRUCTION_SET"
    }
    with log.open("wb") as file:
        popen = subprocess.Popen(
            [*prefix, *dragoman, "serve", *own, *loaded, *arguments],
            cwd=ROOT,
            stdout=file,
            stderr=file,
            env={**inherited, **(environment or {})},
        )
    try:
        yield ServerProcess(popen, port, log)
    finally:
        if popen.poll() is None:
            popen.kill()
        popen.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
