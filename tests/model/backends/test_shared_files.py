"""Memory that processes have once. Two uses in one process differ in nothing from two processes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import mmap
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from model.backends import shared_files
from model.backends.memory import Allocate, Memory
from model.backends.shared_files import SharedFiles

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
NUM_BYTES = 5 << 20


@pytest.fixture
def files() -> Iterator[SharedFiles]:
    files = SharedFiles(2)
    yield files
    files.close()


class Filler:
    """Fills memory with one number."""

    def __init__(self, number: int = 7) -> None:
        self.number, self.num_fills = number, 0

    def __call__(self, allocate: Allocate) -> Memory:
        self.num_fills += 1
        memory = allocate(NUM_BYTES)
        assert not memory.any()
        memory[:] = self.number
        return memory


def unfilled(allocate: Allocate) -> Memory:
    allocate(NUM_BYTES)[:] = 1
    raise OSError("the disk is gone")


def held_bytes(files: SharedFiles) -> int:
    gc.collect()
    return sum(os.stat(file).st_blocks * 512 for file in files._files)


def is_all(memory: Memory, number: int) -> bool:
    assert memory.ctypes.data % 64 == 0
    return len(memory) == NUM_BYTES and bool((memory == number).all())


def test_one_fills_it_all_read_it_and_the_last_frees_it(files: SharedFiles) -> None:
    fill = Filler()
    for _ in range(3):
        one, two = (files.filled(KEY, fill) for _ in range(2))
        other = files.filled(OTHER_KEY, Filler(8))
        assert NUM_BYTES <= held_bytes(files) // 2 < NUM_BYTES + 10_000
        with pytest.raises(ValueError, match="read-only"):
            two[0] = 0
        del one
        assert is_all(two, 7)
        del two
        assert NUM_BYTES <= held_bytes(files) < NUM_BYTES + 10_000
        assert is_all(other, 8)
        del other
        assert held_bytes(files) == 0
    assert fill.num_fills == 3


def test_what_could_not_be_filled_is_filled_by_the_next(files: SharedFiles) -> None:
    """Also if the error, with the memory, is kept."""
    with pytest.raises(OSError, match="the disk is gone"):
        files.filled(KEY, unfilled)
    assert held_bytes(files) == 0
    kept = None
    try:
        files.filled(KEY, unfilled)
    except OSError as error:
        kept = error
    assert is_all(files.filled(KEY, Filler()), 7)
    assert kept is not None


def test_without_room_a_process_has_memory_of_its_own(
    files: SharedFiles, caplog: pytest.LogCaptureFixture
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (NUM_BYTES, before[1]))
    try:
        memory = files.filled(KEY, Filler())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert is_all(memory, 7)
    assert held_bytes(files) == 0
    assert "weights are not shared: File too large" in caplog.text
    assert is_all(files.filled(KEY, Filler(8)), 8)


def test_a_process_that_may_not_open_so_many_files_keeps_none_of_them_open() -> None:
    before, opened = resource.getrlimit(resource.RLIMIT_NOFILE), os.listdir("/proc/self/fd")
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 10, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            SharedFiles(2)
        assert len(os.listdir("/proc/self/fd")) == len(opened)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_when_all_files_are_used_a_process_has_memory_of_its_own_and_says_so(
    files: SharedFiles, caplog: pytest.LogCaptureFixture
) -> None:
    held = [files.filled(b"%32d" % i, lambda allocate: allocate(1)) for i in range(70)]
    num_files = held_bytes(files) // os.sysconf("SC_PAGE_SIZE")
    assert num_files == 64
    assert caplog.text.count("weights are not shared: all 64 files are in use") == 6
    del held[3]
    fills = [Filler(), Filler()]
    memories = [files.filled(KEY, fill) for fill in fills]
    assert [fill.num_fills for fill in fills] == [1, 0]
    assert all(is_all(memory, 7) for memory in memories)


CALLS = ((os, "open"), (os, "pread"), (os, "pwrite"), (os, "ftruncate"), (os, "posix_fallocate"),
         (fcntl, "flock"), (mmap, "mmap"))  # fmt: skip


@contextlib.contextmanager
def failing(place: object, name: str, number: int) -> Iterator[list[str]]:
    """The call of this number fails, as the system may let it -> an item for each call."""
    calls, real = list[str](), getattr(place, name)

    def call(*arguments: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == number:
            raise OSError(errno.ENOLCK, "No locks available")
        return real(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, call)
        yield calls


@pytest.mark.parametrize(("place", "name"), CALLS)
def test_whichever_call_of_the_system_fails_memory_is_right_and_nothing_is_left(
    place: object, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first use, the use of what another has, and the end of both."""
    monkeypatch.setattr(shared_files, "_NUM_FILES", 3)
    files = SharedFiles(2)
    opened, calls, number = len(os.listdir("/proc/self/fd")), [name], 0
    while len(calls) > number:
        number += 1
        caplog.clear()
        with failing(place, name, number) as calls:
            one, two = (files.filled(KEY, Filler()) for _ in range(2))
            assert is_all(one, 7)
            assert is_all(two, 7)
            is_told = "weights are not shared: No locks available" in caplog.text
            assert is_told == (len(calls) >= number)
            del one, two
        assert len(os.listdir("/proc/self/fd")) == opened
        other = files.filled(OTHER_KEY, Filler(8))
        assert NUM_BYTES <= held_bytes(files) < NUM_BYTES + 10_000
        del other
        assert held_bytes(files) == 0
    assert number > 1
    files.close()


KILLED = """
import os, signal
from model.backends.shared_files import SharedFiles

def fill(allocate):
    memory = allocate(1 << 20)
    memory[: 1 << 19] = 7
    if len(fills) == 1:
        os.write(told, b"!")
        signal.pause()
    memory[:] = 7
    return memory

files, fills = SharedFiles(2), []
reads, told = os.pipe()
if not (filling := os.fork()):
    fills.append(1)
    files.filled(b"k", fill)
os.read(reads, 1)
if not (waiting := os.fork()):
    os._exit(int(not (files.filled(b"k", fill) == 7).all()))
os.kill(filling, signal.SIGKILL)
assert os.waitpid(waiting, 0)[1] == 0
if not (using := os.fork()):
    memory = files.filled(b"k", fill)
    os.write(told, b"!")
    signal.pause()
os.read(reads, 1)
os.kill(using, signal.SIGKILL)
os.waitpid(using, 0)
files.filled(b"other", lambda allocate: allocate(1))
held = sum(os.stat(file).st_blocks for file in files._files)
assert held == 0, held
"""


def test_what_processes_that_are_killed_were_filling_or_using_is_neither_used_nor_kept() -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
