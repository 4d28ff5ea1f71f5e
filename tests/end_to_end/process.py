"""A real server in a process of its own, for tests."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import psutil
from websockets.sync.client import ClientConnection, connect

from tests.service.fakes import until

ROOT = Path(__file__).parents[2]
DRAGOMAN = str(Path(sys.executable).with_name("dragoman"))
TEXTS = (ROOT / "tests/data/sentences.en.txt").read_text(encoding="utf-8").splitlines()
START_SECONDS = 90
END_SECONDS = 10
"""An end that waits for running work takes far longer than this, one at once far less."""
_MOST_LOG_BYTES = 2**24


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_up(port: int) -> bool:
    """Whether something listens there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def is_ready(port: int) -> bool:
    """Whether a server there is ready."""
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/health/ready").status_code == 200
    return False


class Process:
    """A server on a port of its own, the bundled models loaded or about to be."""

    def __init__(self, *arguments: str, log: IO[str], port: int = 0, metrics_port: int = 0) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.metrics_url = f"http://127.0.0.1:{metrics_port or port}"
        self.has_drained = False
        self._log = log
        self.popen = subprocess.Popen(
            [DRAGOMAN, "serve", "--port", str(port), "--drain-seconds", "300", *arguments],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )

    @property
    def pids(self) -> list[int]:
        """Those of the parent and of all below it."""
        parent = psutil.Process(self.popen.pid)
        return [parent.pid, *(child.pid for child in parent.children(recursive=True))]

    def get(self, path: str) -> httpx.Response:
        """What metrics and health are asked."""
        return httpx.get(self.metrics_url + path, timeout=30)

    def wait_until_ready(self) -> None:
        until(lambda: self.is_ready, START_SECONDS)

    @property
    def is_ready(self) -> bool:
        assert self.popen.poll() is None
        with contextlib.suppress(httpx.TransportError):
            return self.get("/health/ready").status_code == 200
        return False

    def gauge(self, name: str) -> float:
        """The sum of its samples; not a number while there are no metrics."""
        answer = self.get("/metrics")
        if answer.status_code != 200:
            return math.nan
        lines = answer.text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def translate(self, **changes: object) -> httpx.Response:
        """Much work, unless other fields are given."""
        fields = {"q": TEXTS * 2, "source": "en", "target": "zh", "beam_size": 16, **changes}
        return httpx.post(f"{self.url}/translate", json=fields, timeout=300)

    def translate_file(self, name: str, content: bytes) -> httpx.Response:
        fields = {"source": "en", "target": "de"}
        url = f"{self.url}/translate_file"
        return httpx.post(url, data=fields, files={"file": (name, content)}, timeout=300)

    def send_document(self, name: str, content: bytes) -> str:
        """The id of an accepted file."""
        fields, files = {"source": "en", "target": "de"}, {"file": (name, content)}
        answer = httpx.post(f"{self.url}/documents", data=fields, files=files, timeout=300)
        document: str = answer.json()["id"]
        return document

    def open_stream(self) -> ClientConnection:
        return connect(f"{self.url.replace('http', 'ws')}/translate/stream", close_timeout=1)

    def lines(self) -> list[str]:
        """What it has said; where it writes next stays."""
        return os.pread(self._log.fileno(), _MOST_LOG_BYTES, 0).decode().splitlines()

    def ended(self, within_seconds: float = END_SECONDS) -> tuple[int, str]:
        """How the process ended, and what it said last that is no log line."""
        self.popen.wait(timeout=within_seconds)
        lines = self.lines()
        self.has_drained = any('"draining' in line for line in lines)
        return self.popen.returncode, "\n".join(x for x in lines if not x.startswith("{"))


@contextlib.contextmanager
def server(*arguments: str, port: int = 0, metrics_port: int = 0) -> Iterator[Process]:
    common = ("--log-format", "json", "--max-characters", "100000")
    with tempfile.TemporaryFile("w+") as log:
        process = Process(*common, *arguments, log=log, port=port, metrics_port=metrics_port)
        try:
            yield process
        finally:
            process.popen.kill()
            process.popen.wait()
