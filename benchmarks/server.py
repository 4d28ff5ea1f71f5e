"""`dragoman serve` as a process of its own, for the benchmarks to talk to."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from benchmarks.sentences import ROOT

PORT = 8765
URL = f"http://127.0.0.1:{PORT}"
_DRAGOMAN = str(Path(sys.executable).with_name("dragoman"))


@contextlib.contextmanager
def running_server(model: Path, arguments: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """The server, ready; stopped at the end of the block."""
    command = [_DRAGOMAN, "serve", "--model", str(model), "--port", str(PORT), *arguments]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=ROOT)
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{URL}/health/ready").status_code == 200:
                    break
            if server.poll() is not None:
                raise RuntimeError(f"the server ended with code {server.returncode}")
            time.sleep(0.2)
        yield server
    finally:
        server.terminate()
        server.wait(timeout=60)
