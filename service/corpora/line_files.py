"""Files of lines: the input, or a shard of it, and the output, which tells where to go on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO, Self, cast

from service.corpora.byte_output import ByteOutput
from service.corpora.compression import (
    compression_of,
    decompressed,
    frame,
    read_errors,
    whole_frames,
)
from service.corpora.shards import Shard

_MOST_LINE_BYTES = 2**24
_BLOCK_BYTES = 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineInput:
    """The lines of a file's shard, or of standard input. Raises ValueError as it reads."""

    def __init__(self, path: Path | None, shard: Shard) -> None:
        self._path, self._shard, self.name = path, shard, str(path or "standard input")
        if path is None and sys.stdin is None:
            raise ValueError("standard input is closed; name a file")
        self.fraction: float | None = None
        """How much is read, if it is known."""

    @property
    def has_first_line(self) -> bool:
        """Whether the shard begins with the file."""
        return self._shard.index == 0

    def first_line(self) -> bytes:
        """The first line of the file, whatever the shard."""
        with self._opened() as (_, file):
            return _without_end(file.readline(_MOST_LINE_BYTES)).removeprefix(_BYTE_ORDER_MARK)

    def lines(self) -> Iterator[bytes | None]:
        """Each line without its end, None for one that is too long. A line belongs to the shard in
        which it begins."""
        with self._opened() as (raw, file):
            begin, end = self._bounds(raw, file)
            position = begin
            if begin:
                file.seek(begin - 1)
                position += _skip_line(file) - 1
            while (end is None or position < end) and (line := file.readline(_MOST_LINE_BYTES)):
                position += len(line)
                is_whole = len(line) < _MOST_LINE_BYTES or line.endswith(b"\n")
                if not is_whole:
                    position += _skip_line(file)
                if end is not None:
                    self.fraction = min(1.0, (position - begin) / (end - begin))
                elif size := _size(raw):
                    self.fraction = raw.tell() / size
                is_first = position == len(line)
                line = line.removeprefix(_BYTE_ORDER_MARK) if is_first else line
                yield _without_end(line) if is_whole else None
            if self._path is not None and end is not None and position < end:
                raise ValueError(f"it ends at byte {position}, and had {end} when it was opened")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[BufferedReader, BinaryIO]]:
        """The file as it is, and what it contains."""
        try:
            with contextlib.ExitStack() as stack:
                if self._path is None:
                    raw = cast(BufferedReader, sys.stdin.buffer)
                else:
                    raw = stack.enter_context(self._path.open("rb"))
                yield raw, decompressed(raw)
        except read_errors() as error:
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"cannot read {self.name}: {reason}") from error
        except ValueError as error:
            raise ValueError(f"cannot read {self.name}: {error}") from error

    def _bounds(self, raw: BufferedReader, file: BinaryIO) -> tuple[int, int | None]:
        """The bytes in which lines of the shard begin; None: all that there are."""
        if file is raw and (size := _size(raw)):
            return self._shard.of(size)
        if self._shard.count == 1:
            return 0, None
        size = sum(map(len, iter(lambda: file.read(_BLOCK_BYTES), b"")))
        file.seek(0)
        return self._shard.of(size)


class LineOutput:
    """A file that grows by whole frames, or standard output. It belongs to one run at a time."""

    def __init__(self, path: Path | None, source: Path | None, *, resumes: bool) -> None:
        """`resumes`: it may hold lines already. Raises ValueError."""
        self._path, self._is_regular = path, False
        self.compression = compression_of(path)
        self._output = ByteOutput(path)
        self._file = self._output.file
        if self._file is None or path is None:
            return
        with contextlib.ExitStack() as stack:
            stack.callback(self._file.close)
            status = os.fstat(self._file.fileno())
            self._is_regular = stat.S_ISREG(status.st_mode)
            if source is not None and os.path.samestat(status, source.stat()):
                raise ValueError(f"{source} is the output too; name another file")
            if self._is_regular and status.st_size and not resumes:
                raise ValueError(f"{path} is not empty; --resume goes on with it")
            if self._is_regular:
                lock(self._file.fileno(), path)
            stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def kept(self) -> Iterator[list[bytes]]:
        """The lines that an earlier run wrote, frame by frame; then cuts off what is not whole.
        Raises ValueError."""
        if self._file is None or self._path is None or not self._is_regular:
            return
        end = 0
        with self._output.naming_errors(), self._path.open("rb") as written:
            try:
                for content, after in whole_frames(self.compression, written):
                    end = after
                    *lines, rest = content.split(b"\n")
                    if rest:
                        raise ValueError("it has a frame that ends within a line")
                    yield lines
            except ValueError as error:
                raise ValueError(f"cannot go on with {self._path}: {error}") from error
            self._file.truncate(end)

    def write(self, lines: list[bytes]) -> None:
        """Write a frame of lines. Raises ValueError, and BrokenPipeError if the reader is gone."""
        self._output.write(frame(self.compression, b"".join(line + b"\n" for line in lines)))

    def finish(self) -> None:
        """All is written. Without a frame other programs would not read a compressed file."""
        if self._file is not None and self._is_regular and not _size(self._file):
            self.write([])


def lock(descriptor: int, path: Path) -> None:
    """Hold a file or a directory until it is closed. Raises ValueError if another run does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(f"another run writes {path}") from error
    except OSError:  # a file system without locks
        return


def _size(file: BufferedReader | FileIO) -> int:
    """0 if it is no regular file."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _skip_line(file: BinaryIO) -> int:
    """Read to the end of a line -> its bytes."""
    count = 0
    while block := file.readline(_BLOCK_BYTES):
        count += len(block)
        if block.endswith(b"\n"):
            break
    return count


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")
