from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.http.protocols.wire import ServerProcess


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """With the bounds that it has in earnest."""
    process = ServerProcess(tmp_path_factory.mktemp("server") / "log", {})
    yield process
    process.end()


@pytest.fixture(scope="package")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that waits for nobody longer than a second or two."""
    limits = {"receive_seconds": 1, "idle_seconds": 2, "send_seconds": 1, "linger_seconds": 0.5}
    process = ServerProcess(tmp_path_factory.mktemp("impatient") / "log", limits)
    yield process
    process.end()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that translates a character in a fifth of a second."""
    process = ServerProcess(tmp_path / "log", {}, step_seconds=0.2)
    yield process
    process.end()


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "log", {})
    yield process
    process.end()
