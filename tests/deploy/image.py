"""Build the image of the Dockerfile and run it, with podman as root.

Debian's packages are podman, crun, netavark, aardvark-dns and iptables. Where no registry is
reached, BASE names a local image with Python that takes the place of the official ones, for example
of `debootstrap --variant=minbase --include=python3,ca-certificates bookworm root`, without what
these leave out (`cd root && rm -r usr/share/{doc,man,locale,info} var/{cache/apt,lib/apt/lists}`),
and `tar -C root -c . | podman import - localhost/base`. pip's configuration of this machine (an
index of its own, a certificate) is lent to the build and stays out of the image.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/dragoman:latest"
COMPOSE_FILE = ROOT / "deploy" / "compose.yaml"
_BASE = [f"--build-arg=BASE={os.environ['BASE']}"] if "BASE" in os.environ else []
_BUILD_OPTIONS = ("--isolation=chroot", "--format=docker")
_RUN_OPTIONS = (  # writable is /tmp alone
    *("--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp"),
    *("--security-opt=no-new-privileges", "--publish=127.0.0.1::8000"),
)
_START_SECONDS = 240
_END_SECONDS = 60
_TESTS = Path(__file__).parent
_ENVIRONMENT = os.environ | {"CONTAINERS_CONF": str(_TESTS / "containers.conf")}


@dataclass(frozen=True)
class Container:
    """A container that is serving; `url` is where this machine reaches it."""

    name: str
    url: str

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as the server's user."""
        return podman("exec", self.name, *command)

    def exit_code(self) -> int:
        """Wait for its end."""
        return int(podman("wait", self.name).stdout)


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["podman", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=_ENVIRONMENT)


def checked(*arguments: str) -> str:
    """What podman says; raises RuntimeError with its complaint."""
    result = podman(*arguments)
    if result.returncode:
        raise RuntimeError(f"podman {arguments[0]} failed: {result.stderr.strip()}")
    return result.stdout


def build() -> None:
    """Build IMAGE from the working tree.

    The stage with pip in it is built first and alone, since whatever is mounted for it would leave
    an empty directory in the last stage, too.
    """
    with tempfile.TemporaryDirectory() as directory:
        secret = Path(directory) / "pip.conf"
        parser = configparser.RawConfigParser()
        parser["global"] = pip_configuration()
        with secret.open("w", encoding="utf-8") as file:
            parser.write(file)
        arguments = [*_BUILD_OPTIONS, *_BASE, f"--secret=id=pip,src={secret}"]
        volumes = [f"--volume={path}:{path}:ro" for path in local_paths()]
        checked("build", *arguments, *volumes, "--target=build", str(ROOT))
        checked("build", *arguments, f"--tag={IMAGE}", str(ROOT))


@functools.cache
def pip_configuration() -> dict[str, str]:
    """What pip is told on this machine, by its files or, which wins, its environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = sorted(listed.splitlines(), key=lambda line: line.startswith(":env:"))
    pairs = (line.split("=", 1) for line in lines)
    return {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, value in pairs}


def local_paths() -> list[Path]:
    """Files and directories of this machine that pip's configuration names.

    Of an index the parent: its pages link to what lies beside it.
    """
    words = " ".join(pip_configuration().values()).split()
    indexes = [Path(word.removeprefix("file://")).parent for word in words if "://" in word]
    paths = {*indexes, *(Path(word) for word in words if "://" not in word)}
    return sorted(path for path in paths if path.is_absolute() and path.exists())


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[Container]:
    """The image's own command with a read-only root, ready; removed at the end of the block."""
    name = f"dragoman-test-{uuid.uuid4()}"
    command = ["run", "--detach", f"--name={name}", *_RUN_OPTIONS, IMAGE, *arguments]
    try:
        checked(*command)
        address = checked("port", name, "8000/tcp").strip()
        container = Container(name, f"http://{address}")
        _wait_until_ready(container)
        yield container
    finally:
        podman("rm", "--force", name)


def run_to_the_end(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The image's entry point with arguments that end it; killed if they do not."""
    limit = f"--timeout={_END_SECONDS}"
    return podman("run", "--rm", limit, *_RUN_OPTIONS, IMAGE, *arguments)


@contextlib.contextmanager
def composed() -> Iterator[Container]:
    """The server and Prometheus as Docker Compose brings them up, with podman for an engine."""
    if _BASE:
        services = yaml.safe_load(COMPOSE_FILE.read_text("utf-8"))["services"]
        tag = f"--tag=localhost/{services['prometheus']['image']}"
        dockerfile = f"--file={_TESTS / 'prometheus.Dockerfile'}"
        checked("build", *_BUILD_OPTIONS, *_BASE, tag, dockerfile, str(_TESTS))
    with _engine() as environment:
        try:
            compose(environment, "up", "--no-build", "--detach", "dragoman", "prometheus")
            container = Container("dragoman-dragoman-1", "http://127.0.0.1:8000")
            _wait_until_ready(container)
            yield container
        finally:
            compose(environment, "down", "--volumes")


@contextlib.contextmanager
def _engine() -> Iterator[dict[str, str]]:
    """podman as what Compose takes for Docker; yields the environment that says where."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "podman.sock"
        address = f"unix://{path}"
        command = ["podman", "system", "service", "--time=0", address]
        service = subprocess.Popen(command, env=_ENVIRONMENT, stderr=subprocess.DEVNULL)
        try:
            while not path.exists():
                time.sleep(0.05)
            yield _ENVIRONMENT | {"DOCKER_HOST": address}
        finally:
            service.terminate()
            service.wait(timeout=30)


def compose(environment: dict[str, str], *arguments: str) -> None:
    """Run Docker Compose on deploy/compose.yaml; raises RuntimeError with its complaint."""
    program = Path(sys.executable).parent / "docker-compose"
    command = [str(program), "--file", str(COMPOSE_FILE), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        raise RuntimeError(f"docker-compose {arguments[0]} failed: {result.stderr.strip()}")


def _wait_until_ready(container: Container) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{container.url}/health/ready").status_code == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"not ready: {podman('logs', container.name).stderr}")
