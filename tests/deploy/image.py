"""Build the image of the Dockerfile and run it, with podman as root.

Without BASE the official base is taken; if no registry is reached, a Debian is made by debootstrap.
pip's configuration of this machine (an index of its own, a certificate) is lent to the build and
stays out of the image.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/dragoman:latest"
COMPOSE_FILE = ROOT / "deploy" / "compose.yaml"
_LOCAL_BASE = "localhost/dragoman-base"
_SUITE = "bookworm"  # the oldest Debian whose Python is new enough
_BUILD_OPTIONS = ("--isolation=chroot", "--format=docker")
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


def require_programs() -> None:
    """Raise RuntimeError if the image cannot be built here."""
    for program in ("podman", "crun", "debootstrap", "iptables"):
        if shutil.which(program) is None:
            raise RuntimeError(
                f"{program} is not installed; Debian has what is needed as packages "
                "podman, crun, netavark, aardvark-dns, iptables and debootstrap"
            )
    if os.geteuid():
        raise RuntimeError("the container test needs root")


def build() -> None:
    """Build IMAGE from the working tree.

    The stage with pip in it is built first and alone, since whatever is mounted for it would leave
    an empty directory in the last stage, too.
    """
    with tempfile.TemporaryDirectory() as directory:
        secret = Path(directory) / "pip.conf"
        write_pip_configuration(secret)
        arguments = [*_BUILD_OPTIONS, f"--secret=id=pip,src={secret}"]
        arguments += [f"--build-arg={argument}" for argument in _build_arguments()]
        volumes = [f"--volume={path}:{path}:ro" for path in local_paths()]
        checked("build", *arguments, *volumes, "--target=build", str(ROOT))
        checked("build", *arguments, f"--tag={IMAGE}", str(ROOT))


def _build_arguments() -> list[str]:
    base = os.environ.get("BASE")
    if base is None and podman("pull", _official_base()).returncode:
        _make_local_base()
        return [f"BASE={_LOCAL_BASE}"]
    return [f"BASE={base}"] if base else []


def _official_base() -> str:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    match = re.search(r"^ARG BASE=(\S+)$", dockerfile, re.MULTILINE)
    assert match
    return match[1]


def _make_local_base() -> None:
    if podman("image", "exists", _LOCAL_BASE).returncode == 0:
        return
    with tempfile.TemporaryDirectory() as directory:
        root, archive = Path(directory) / "root", Path(directory) / "base.tar"
        packages = "--include=python3,ca-certificates"
        command = ["debootstrap", "--variant=minbase", packages, _SUITE, str(root)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        caches = [f"--exclude=./var/{cache}/*" for cache in ("cache/apt", "lib/apt/lists")]
        packed = ["tar", "-C", str(root), *caches, "-cf", str(archive), "."]
        subprocess.run(packed, check=True)
        checked("import", str(archive), _LOCAL_BASE)


@functools.cache
def pip_configuration() -> dict[str, str]:
    """What pip is told on this machine, by its files or, which wins, its environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = sorted(listed.splitlines(), key=lambda line: line.startswith(":env:"))
    pairs = (line.split("=", 1) for line in lines)
    return {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, value in pairs}


def write_pip_configuration(path: Path) -> None:
    parser = configparser.RawConfigParser()
    parser["global"] = pip_configuration()
    with path.open("w", encoding="utf-8") as file:
        parser.write(file)


def local_paths() -> list[Path]:
    """Files and directories of this machine that pip's configuration names.

    Of an index the parent: its pages link to what lies beside it.
    """
    words = " ".join(pip_configuration().values()).split()
    indexes = [Path(word.removeprefix("file://")).parent for word in words if "://" in word]
    paths = {*indexes, *(Path(word) for word in words if "://" not in word)}
    return sorted(path for path in paths if path.is_absolute() and path.exists())


@contextlib.contextmanager
def serving(*arguments: str, options: Sequence[str] = ()) -> Iterator[Container]:
    """The image's own command with a read-only root, ready; removed at the end of the block."""
    name = f"dragoman-test-{uuid.uuid4()}"
    command = ["run", "--detach", f"--name={name}", *_run_options(), *options, IMAGE, *arguments]
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
    return podman("run", "--rm", limit, *_run_options(), IMAGE, *arguments)


def _run_options() -> list[str]:
    """Writable is /tmp alone."""
    return [
        *("--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp"),
        *("--security-opt=no-new-privileges", "--publish=127.0.0.1::8000"),
    ]


@contextlib.contextmanager
def composed() -> Iterator[Container]:
    """The server and Prometheus as Docker Compose brings them up, with podman for an engine."""
    prometheus = yaml.safe_load(COMPOSE_FILE.read_text("utf-8"))["services"]["prometheus"]["image"]
    if podman("pull", prometheus).returncode:
        base, dockerfile = f"--build-arg=BASE={_LOCAL_BASE}", _TESTS / "prometheus.Dockerfile"
        options = [*_BUILD_OPTIONS, base, f"--tag=localhost/{prometheus}", f"--file={dockerfile}"]
        _make_local_base()
        checked("build", *options, str(_TESTS))
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
