"""A parent and its children, as real processes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import psutil
import pytest

from service.processes import supervisor
from service.processes.control import ParentEnd
from service.processes.supervisor import Child
from tests.service.processes import supervised


@contextlib.contextmanager
def parent(*arguments: str) -> Iterator[IO[str]]:
    """What its children print in the block, until SIGTERM ends it."""
    with process(*arguments) as running:
        assert running.stdout is not None
        yield running.stdout


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """It prints nothing after the block, which SIGTERM ends. Who starts it ignores signals that it
    needs, as some programs do."""
    command = [sys.executable, "-m", supervised.__name__, *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_ignore_signals,
    ) as running:
        assert running.stdout is not None
        try:
            yield running
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=30) == 0
            assert running.stdout.read() == ""
        finally:
            running.kill()


def _ignore_signals() -> None:
    for number in signal.SIGCHLD, signal.SIGALRM:
        signal.signal(number, signal.SIG_IGN)


def test_a_connection_that_breaks_while_both_live_is_made_again_once() -> None:
    with parent() as printed:
        assert printed.readline() == "hello True 2\n"


def test_what_has_worked_is_tried_again_even_if_it_cannot_begin(tmp_path: Path) -> None:
    with parent(str(tmp_path / "lives")) as printed:
        assert printed.readline() == "life 3\n"


def test_what_hangs_is_killed_also_when_it_is_to_end(tmp_path: Path) -> None:
    with process(str(tmp_path / "lives"), "2") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "life 1\n"
        assert running.stdout.readline() == "life 2\n"
        assert "hangs for 2 s: it is killed" in running.stderr.readline()
        assert "has ended (signal 9, because it hangs for 2 s)" in running.stderr.readline()


def test_what_is_stopped_together_with_its_parent_is_not_taken_to_hang(tmp_path: Path) -> None:
    with process(str(tmp_path / "lives"), "1") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "life 1\n"
        (child,) = psutil.Process(running.pid).children()
        both = psutil.Process(running.pid), child
        for one in both:
            one.suspend()
        time.sleep(2 * supervised.MOST_SILENT_SECONDS)
        for one in reversed(both):
            one.resume()
        assert child.is_running()


def test_what_the_system_has_no_room_for_is_started_later(tmp_path: Path) -> None:
    with process(str(tmp_path / "lives"), "1") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "life 1\n"
        own, (child,) = psutil.Process(running.pid), psutil.Process(running.pid).children()
        before = own.rlimit(psutil.RLIMIT_NOFILE)
        own.rlimit(psutil.RLIMIT_NOFILE, (3, before[1]))
        child.kill()
        why = "has ended (signal 9, which the system sends when memory is short)"
        assert why in running.stderr.readline()
        assert "cannot be started now (Too many open files)" in running.stderr.readline()
        own.rlimit(psutil.RLIMIT_NOFILE, before)
        assert running.stdout.readline() == "life 2\n"


@pytest.mark.parametrize(
    "reach",
    [
        lambda full, other: supervisor._connect(full, other),
        lambda full, other: supervisor._connect(other, full),
        lambda full, _: full.tell(supervisor.DRAIN),
    ],
    ids=["newer", "older", "told"],
)
def test_what_has_no_room_for_a_connection_or_a_command_is_ended(
    reach: Callable[[Child, Child], None],
) -> None:
    """A front end that never hears of an engine, or that it is to drain, would serve nobody."""
    with child("full") as (full, ended), child("other") as (other, running):
        assert full.line is not None
        with contextlib.suppress(BlockingIOError):
            while True:
                full.line.send("nobody reads it")
        reach(full, other)
        assert ended.wait(timeout=30) == -signal.SIGKILL
        assert running.poll() is None


@contextlib.contextmanager
def child(name: str) -> Iterator[tuple[Child, subprocess.Popen[bytes]]]:
    """One that does not read what it is told."""
    ours, theirs = ParentEnd.pair()
    with closing(ours), closing(theirs), subprocess.Popen(["sleep", "600"]) as running:
        try:
            yield Child(name, lambda *_: 0, "engine", running.pid, ours), running
        finally:
            running.kill()


def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", supervised.__name__, str(tmp_path / "lives"), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "life 1\n"
        for number in signal.SIGINT, signal.SIGTERM:
            running.send_signal(number)
        assert running.wait(timeout=30) == -signal.SIGTERM
        assert running.stdout.read() == ""  # its child has ended
