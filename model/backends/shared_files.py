"""Memory that several processes of a server have once: one fills it, all read it."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import mmap
import os
import weakref
from collections.abc import Callable, Iterator

import numpy as np

from model.backends.memory import LINE_BYTES, Allocate, Memory, own_memory

_logger = logging.getLogger(__name__)
_NUM_FILES = 64
Fill = Callable[[Allocate], Memory]
"""Allocates memory once, fills it and returns it."""


class _NoRoom(OSError):
    """The system has no memory that can be shared."""


class SharedFiles:
    """Files without names, which the processes have that are forked from this one.

    Each holds the memory of one key, and before it the key, which is written last. Who uses it has
    the file open and locked, shared with others; the system unlocks it when a process is killed,
    and removes all files when the last process ends. One process looks for a key at a time, or
    fills the memory of one.
    """

    def __init__(self, num_sharers: int) -> None:
        """`num_sharers`: processes that are to use them. Raises OSError if the system lacks such
        files."""
        self.num_sharers = num_sharers
        with contextlib.ExitStack() as stack:
            files = []
            for _ in range(_NUM_FILES + 1):
                files.append(os.memfd_create("dragoman-weights"))
                stack.callback(os.close, files[-1])
            self._turn, *self._files = files
            with self._alone():  # which the system may not support
                stack.pop_all()

    def close(self) -> None:
        """In a process that does not use them."""
        for file in (self._turn, *self._files):
            os.close(file)

    def filled(self, key: bytes, fill: Fill) -> Memory:
        """The memory of a key, which this or another process has filled; memory of this process if
        none can be shared. Raises what `fill` raises."""
        with self._alone():
            found = self._found(key)
            file = self._free_file() if found is None else None
            if file is not None:
                found = _filled(file, key, fill)
        return fill(own_memory) if found is None else found

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        turn = _opened(self._turn)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield
        finally:
            os.close(turn)

    def _found(self, key: bytes) -> Memory | None:
        for number in self._files:
            if os.pread(number, len(key), 0) == key:
                file = _opened(number)
                fcntl.flock(file, fcntl.LOCK_SH)
                if os.pread(file, len(key), 0) == key:  # else its last user has just let it go
                    return _mapped(file)
                os.close(file)
        return None

    def _free_file(self) -> int | None:
        """An empty file, locked for this process. Others that nobody uses, because processes were
        killed, become empty, too."""
        free = None
        for file in map(_opened, self._files):
            if _is_emptied(file):
                if free is None:
                    free = file
                else:
                    os.close(file)
        return free


def _opened(number: int) -> int:
    """A file once more, with locks of its own."""
    return os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_CLOEXEC)


def _is_emptied(file: int) -> bool:
    """Whether nobody else uses it, so that it is empty and locked now; else it is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
    except OSError:
        os.close(file)
        return False
    return True


def _filled(file: int, key: bytes, fill: Fill) -> Memory | None:
    """None: there is no room. The file is closed unless its memory is used."""
    try:
        fill(lambda num_bytes: _room(file, num_bytes))
        os.pwrite(file, key, 0)
        fcntl.flock(file, fcntl.LOCK_SH)
        return _mapped(file)
    except _NoRoom as error:
        _logger.warning("weights are not shared: %s", error.strerror)
        _let_go(file)
        return None
    except BaseException:
        _let_go(file)
        raise


def _room(file: int, num_bytes: int) -> Memory:
    """Zeros. All are taken from the system now: later it would kill a process that it has no room
    for."""
    try:
        os.posix_fallocate(file, 0, LINE_BYTES + num_bytes)
        return np.frombuffer(mmap.mmap(file, 0), np.uint8)[LINE_BYTES:]
    except OSError as error:
        raise _NoRoom(error.errno, error.strerror) from error


def _mapped(file: int) -> Memory:
    """The memory of a file, only to be read. The file is let go with it."""
    mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ)
    weakref.finalize(mapped, _let_go, file).atexit = False
    return np.frombuffer(mapped, np.uint8)[LINE_BYTES:]


def _let_go(file: int) -> None:
    """Close it, and free its memory if nobody else uses it."""
    if _is_emptied(file):
        # A mapping that an exception still holds has it open, too.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)
