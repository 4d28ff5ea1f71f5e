"""A parent and its children, as real processes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.service.processes import supervised


@contextlib.contextmanager
def parent(*arguments: str) -> Iterator[IO[str]]:
    """What its children print in the block, until SIGTERM ends it."""
    with process(*arguments) as running:
        assert running.stdout is not None
        yield running.stdout


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """It prints nothing after the block, which SIGTERM ends."""
    command = [sys.executable, "-m", supervised.__name__, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=30) == 0
            assert running.stdout.read() == ""
        finally:
            running.kill()


def test_a_connection_that_breaks_while_both_live_is_made_again_once() -> None:
    with parent() as printed:
        assert printed.readline() == "hello True 2\n"


def test_what_has_worked_is_tried_again_even_if_it_cannot_begin(tmp_path: Path) -> None:
    with parent(str(tmp_path / "lives")) as printed:
        assert printed.readline() == "life 3\n"


def test_what_hangs_is_killed_also_when_it_is_to_end(tmp_path: Path) -> None:
    with parent(str(tmp_path / "lives"), "2") as printed:
        assert printed.readline() == "life 1\n"
        assert printed.readline() == "life 2\n"
