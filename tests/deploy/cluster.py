"""A Ray cluster of one node on this machine, with our replicas on it, for benchmarks and tests."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.sentences import ROOT
from benchmarks.server import BIN

NAME = "dragoman"
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # two cores that do other work too are slow
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "service.ray_serve.proxy:middlewares",
}
_POLL_SECONDS = 0.3
_START_SECONDS = 60
_DEPLOY_SECONDS = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Cluster:
    """What an operator has of a cluster: its REST interface, and the port that it serves on."""

    api: str
    port: int
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def deploy(
        self, arguments: Mapping[str, object], options: Mapping[str, object] | None = None
    ) -> None:
        """Ask for the application with these arguments; `options` override its deployment's."""
        self.apply(
            {
                "name": NAME,
                "route_prefix": "/",
                "import_path": "service.ray_serve.app:app",
                "args": dict(arguments),
                "deployments": [{"name": NAME, **options}] if options else [],
            }
        )

    def apply(self, application: Mapping[str, Any]) -> None:
        """Ask for the application, as it stands in a configuration file."""
        configuration = {
            "http_options": {"host": "127.0.0.1", "port": self.port},
            "applications": [application],
        }
        answer = self.client.put(f"{self.api}/api/serve/applications/", json=configuration)
        if answer.is_error:
            raise RuntimeError(f"the cluster refused: {answer.text}")

    def replicas(self) -> dict[str, dict[str, Any]]:
        """What Ray knows of each replica (state, pid), by its name; empty before it is deployed."""
        deployments = self._application().get("deployments") or {}
        found = deployments.get(NAME, {}).get("replicas", [])
        return {replica["replica_id"]: replica for replica in found}

    def running(self) -> list[str]:
        return [name for name, r in self.replicas().items() if r["state"] == "RUNNING"]

    def wait_until_settled(self, count: int) -> None:
        """Until what was asked for is there: so many replicas run, and none comes or goes."""
        wait_for(lambda: self._is_settled(count), _DEPLOY_SECONDS)

    def _is_settled(self, count: int) -> bool:
        application = self._application()
        if application.get("status") == "DEPLOY_FAILED":
            raise RuntimeError(f"{application['message']} {application['deployments']}")
        replicas = self.replicas()
        is_whole = len(replicas) == count and len(self.running()) == count
        return is_whole and application.get("status") == "RUNNING"

    def _application(self) -> dict[str, Any]:
        details = self.client.get(f"{self.api}/api/serve/applications/").json()
        found: dict[str, Any] = details["applications"].get(NAME, {})
        return found


@contextlib.contextmanager
def running_cluster(
    port: int, cpus: int, gpus: int = 0, environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A cluster of its own, which serves nothing yet; all its processes end with the block."""
    gcs, client, dashboard, agent = (free_port() for _ in range(4))
    command = [str(BIN / "ray"), "start", "--head", "--block", f"--num-cpus={cpus}"]
    command += [f"--num-gpus={gpus}", f"--port={gcs}", f"--ray-client-server-port={client}"]
    command += [f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}"]
    cluster = Cluster(f"http://127.0.0.1:{dashboard}", port)
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as directory:
        process = subprocess.Popen(
            [*command, f"--temp-dir={directory}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **_ENVIRONMENT, **(environment or {})},
        )
        try:
            wait_for(lambda: _is_up(cluster, process), _START_SECONDS)
            yield cluster
            cluster.client.delete(f"{cluster.api}/api/serve/applications/")
        finally:
            cluster.client.close()
            process.terminate()
            process.wait(timeout=60)


def wait_for(condition: Callable[[], bool], limit_seconds: float) -> None:
    ends = time.monotonic() + limit_seconds
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {limit_seconds} s")
        time.sleep(_POLL_SECONDS)


def _is_up(cluster: Cluster, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"ray ended with code {process.returncode}; is dragoman[ray] installed?")
    with contextlib.suppress(httpx.TransportError):
        return cluster.client.get(f"{cluster.api}/api/version").is_success
    return False
