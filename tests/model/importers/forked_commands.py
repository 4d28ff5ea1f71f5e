"""Runs `dragoman` in processes that begin with PyTorch imported, which takes seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

from service.commands import main

_ROOT = Path(__file__).parents[3]
_BEGIN = f"from {__name__} import serve; serve()"
_SECONDS = 120


class ForkedCommands:
    """Asks a process for others, which are its copies."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._num_started = directory, 0

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], given: str
    ) -> subprocess.CompletedProcess[str]:
        self._num_started += 1
        own = self._directory / str(self._num_started)
        own.mkdir()
        (own / "0").write_text(given)
        with Client(str(self._directory / "socket")) as connection:
            connection.send((arguments, environment, str(own)))
            assert connection.poll(_SECONDS), "the command goes on"
            code = connection.recv()
        out, err = ((own / name).read_text() for name in "12")
        return subprocess.CompletedProcess(arguments, code, out, err)


@contextmanager
def forked_commands(directory: Path) -> Iterator[ForkedCommands]:
    command = [sys.executable, "-c", _BEGIN, str(directory / "socket")]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield ForkedCommands(directory)
        process.kill()


def serve() -> None:
    """Copy this process for each connection, until it is killed."""
    import model.importers.convert  # noqa: F401 with PyTorch

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with Listener(sys.argv[1]) as listener:
        os.write(1, b"ready\n")
        while True:
            connection = listener.accept()
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(connection)
            connection.close()


def _answer(connection: Connection) -> None:
    """Run the command, and send its exit code."""
    arguments, environment, directory = connection.recv()
    if process := os.fork():
        connection.send(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        os._exit(0)
    for number in range(3):
        os.dup2(os.open(f"{directory}/{number}", os.O_RDWR | os.O_CREAT), number)
    os.environ.update(environment)
    sys.argv = ["dragoman", *arguments]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))  # the end of an interpreter with PyTorch takes half a second
