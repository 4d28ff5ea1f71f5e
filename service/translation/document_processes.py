"""Reads and writes documents, each in a process of its own.

A hostile document makes any reader slow or large. Its process has bounds of time and memory, ends
when its client leaves, and gives its memory back to the system.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import service
from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.documents import program
from service.translation.documents.program import Bounds, Part, Task

_MAX_PROCESSES = 4
_COMMAND = (sys.executable, "-P", "-c", f"from {program.__name__} import main; main()")
_ERRORS = {error.code: error for error in (InvalidDocument, DocumentTooLarge)}


class ReadDocument(NamedTuple):
    """`lines`: each a Part in JSON."""

    num_characters: int
    lines: Sequence[bytes]


def part_of(line: bytes) -> Part:
    return Part(*json.loads(line))


class DocumentProcesses:
    """At most four processes at a time, and one of each client, whose documents take turns. They
    are forks of one program, which is started for the first: to start takes longer than to read
    most documents."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_MAX_PROCESSES)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._program: _Program | None = None

    def close(self) -> None:
        """Processes end with the calls that wait for them."""
        if self._program is not None:
            self._program.close()

    async def read(self, client: str, task: Task) -> ReadDocument:
        """Raises InvalidDocument or DocumentTooLarge."""
        num_characters, *lines = (await self.run(client, task)).split(b"\n")
        return ReadDocument(int(num_characters), lines)

    async def run(self, client: str, task: Task) -> bytes:
        """What the program makes of it. Raises InvalidDocument or DocumentTooLarge."""
        turn = self._turns.setdefault(client, asyncio.Lock())
        async with turn, self._places:
            reader, writer = await asyncio.open_unix_connection(sock=self._new_process())
            try:
                sent = pickle.dumps(task)
                writer.writelines([len(sent).to_bytes(program.LENGTH_BYTES), sent])
                answer = await reader.read()
            except ConnectionError:
                answer = b""
            finally:
                writer.transport.abort()  # not after what is still to be sent
        return _result(answer, task.bounds)

    def _new_process(self) -> socket.socket:
        """A socket to a new process."""
        if self._program is None or not self._program.is_running:
            self.close()
            self._program = _Program()
        return self._program.new_process()


class _Program:
    """The program, without this process's environment, which may hold secrets."""

    def __init__(self) -> None:
        path = [str(Path(service.__file__).parents[1]), *filter(None, sys.path)]
        environment = {"PYTHONPATH": os.pathsep.join(path)}
        self._control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(_COMMAND, stdin=theirs.fileno(), env=environment)
            except OSError:
                self._control.close()
                raise

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def new_process(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"."], [theirs.fileno()])
        return ours

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


def _result(answer: bytes, bounds: Bounds | None) -> bytes:
    """What a process answers if it is done; else the error that it ended with is raised."""
    status, rest = answer[:1], answer[1:]
    if status == program.DONE:
        return rest
    if not status:
        most = "memory than there is"
        if bounds is not None:
            most = f"than {bounds.max_seconds} seconds or {bounds.max_bytes >> 20} MiB of memory"
        raise DocumentTooLarge(f"to read or write the file takes more {most}")
    if status == program.REFUSED:
        code, message = json.loads(rest)
        raise _ERRORS[code](message)
    if status == program.EXHAUSTED:
        raise BlockingIOError(errno.EAGAIN, "no process could be started")
    raise RuntimeError(rest.decode())
