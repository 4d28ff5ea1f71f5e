"""Memory that several processes of a server have once: one fills it, all read it."""

from __future__ import annotations

import contextlib
import errno
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


class _NotShared(OSError):
    """Memory cannot be shared; the text says why."""


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
        try:
            with self._alone():
                found = self._found(key)
                return self._filled(key, fill) if found is None else found
        except _NotShared as error:
            _logger.warning("weights are not shared: %s", error.strerror)
        return fill(own_memory)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            with _sharing():
                turn = _opened(self._turn)
                stack.callback(os.close, turn)
                fcntl.flock(turn, fcntl.LOCK_EX)
            yield

    def _found(self, key: bytes) -> Memory | None:
        with _sharing():
            for number in self._files:
                if os.pread(number, len(key), 0) != key:
                    continue
                with contextlib.ExitStack() as stack:
                    file = _used(number, stack)
                    if os.pread(file, len(key), 0) == key:  # else its last user has let it go
                        return _mapped(file, stack)
        return None

    def _filled(self, key: bytes, fill: Fill) -> Memory:
        """Files that nobody uses, because processes were killed, become empty, too."""
        with _sharing():
            free = [number for number in self._files if _is_emptied(number)]
        if not free:
            raise _NotShared(errno.ENOSPC, f"all {_NUM_FILES} files are in use")
        with contextlib.ExitStack() as stack:
            with _sharing():
                file = _used(free[0], stack)
            fill(lambda num_bytes: _room(file, num_bytes))
            with _sharing():
                os.pwrite(file, key, 0)
                return _mapped(file, stack)


@contextlib.contextmanager
def _sharing() -> Iterator[None]:
    """If the system fails inside the block, memory cannot be shared."""
    try:
        yield
    except OSError as error:
        raise _NotShared(error.errno, error.strerror) from error


def _opened(number: int) -> int:
    """A file once more, with locks of its own."""
    return os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_CLOEXEC)


def _used(number: int, stack: contextlib.ExitStack) -> int:
    """A file once more, locked until the stack ends."""
    file = _opened(number)
    stack.callback(_let_go, file)
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def _is_emptied(number: int) -> bool:
    """Whether nobody uses a file, so that it is empty now."""
    file = _opened(number)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def _room(file: int, num_bytes: int) -> Memory:
    """Zeros. All are taken from the system now: later it would kill a process that it has no room
    for."""
    with _sharing():
        os.posix_fallocate(file, 0, LINE_BYTES + num_bytes)
        return np.frombuffer(mmap.mmap(file, 0), np.uint8)[LINE_BYTES:]


def _mapped(file: int, stack: contextlib.ExitStack) -> Memory:
    """The memory of a file, only to be read. The file is let go with it, not with the stack."""
    mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ)
    weakref.finalize(mapped, stack.pop_all().close).atexit = False
    return np.frombuffer(mapped, np.uint8)[LINE_BYTES:]


def _let_go(file: int) -> None:
    """Close it, and free its memory if nobody else uses it."""
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
    with contextlib.suppress(OSError):  # a mapping that an exception still holds has it open, too
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)
