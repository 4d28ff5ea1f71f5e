"""The HTTP server as a process of its own, and a client of the standard library."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.gpu.models import ZH_EN

_SERVE = "from service.commands import main; main()"
_START_SECONDS = 60
_STOP_SECONDS = 10


class ServerFailed(RuntimeError):
    """The server did not start or did not answer; the message has the end of its log."""


def serve_command(device: str, port: int, *arguments: str) -> list[str]:
    """Serve the bundled checkpoint."""
    command = [sys.executable, "-c", _SERVE, "serve", "--model", str(ZH_EN), "--device", device]
    return [
        *command,
        "--port",
        str(port),
        "--log-level",
        "warning",
        "--cache-bytes",
        "0",
        *arguments,
    ]


@contextlib.contextmanager
def running_server(device: str, *arguments: str) -> Iterator[int]:
    """Serve the bundled checkpoint on a free port -> the port. Raises ServerFailed."""
    port = free_port()
    with running(serve_command(device, port, *arguments), port, "/health/ready"):
        yield port


@contextlib.contextmanager
def running(
    command: Sequence[str],
    port: int,
    ready_path: str,
    cores: Sequence[int] = (),
    variables: dict[str, str] | None = None,
) -> Iterator[None]:
    """A server that is ready, on these cores only, stopped at the end. Raises ServerFailed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
    pinned = ["taskset", "-c", ",".join(map(str, cores))] if cores else []
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*pinned, *command], stdout=log, stderr=log, env={**environment, **(variables or {})}
        )
        try:
            _wait_until_ready(process, port, ready_path)
            yield
        except (OSError, http.client.HTTPException) as error:
            log.seek(0)
            told = log.read()[-1500:].decode("utf-8", "replace")
            raise ServerFailed(f"{type(error).__name__}: {error}; its log: {told}") from error
        finally:
            _stop(process)


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def post(self, path: str, **fields: object) -> dict[str, Any]:
        """The answer with its status as "status"."""
        self._send(path, fields, "application/json")
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        return {**answer, "status": response.status}

    def events(self, path: str, **fields: object) -> list[dict[str, Any]]:
        """The server-sent events of an answer, and seconds to each as "after"."""
        started = time.perf_counter()
        self._send(path, fields, "text/event-stream")
        response, found = self._connection.getresponse(), []
        for line in response:
            if line.startswith(b"data: "):
                event: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                found.append({**event, "after": time.perf_counter() - started})
        return found

    def get(self, path: str) -> str:
        self._connection.request("GET", path)
        return self._connection.getresponse().read().decode()

    def close(self) -> None:
        self._connection.close()

    def _send(self, path: str, fields: dict[str, object], accept: str) -> None:
        headers = {"Content-Type": "application/json", "Accept": accept}
        self._connection.request("POST", path, json.dumps(fields), headers)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, ready_path: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ConnectionError(f"it ended with status {process.returncode}")
        client = Client(port)
        with contextlib.suppress(ConnectionError):
            client.get(ready_path)
            client.close()
            return
        time.sleep(0.1)
    raise ConnectionError(f"it was not ready after {_START_SECONDS} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
