"""Read untrusted files, and replace files so that a failure keeps the old ones."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MIB = 2**20


class FileError(ValueError):
    """The file cannot be read; the message names it and the reason."""


def is_regular(path: Path) -> bool:
    """Whether it is a file or a link to one, and not a FIFO or device, where a read may never
    end. Raises FileError if the system cannot tell."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(f"cannot read {str(path)!r}: {reason_of(error)}") from error


def read_file(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file of at most `most_bytes`; raises FileError."""
    if not is_regular(path):
        kind = "is not a regular file" if path.exists() else "does not exist"
        raise FileError(f"cannot read {path}: it {kind}")
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason_of(error)}") from error
    if len(content) > most_bytes:
        raise FileError(f"{path} is larger than {_size(most_bytes)}, which such a file never is")
    return content


def read_text(path: Path, most_bytes: int) -> str:
    """Like `read_file`, decoded as UTF-8."""
    try:
        return read_file(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8: byte {error.start} is wrong") from error


def read_json(path: Path, most_bytes: int) -> Any:
    """One JSON value; raises FileError."""
    text = read_text(path, most_bytes)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise FileError(f"{path} is not readable JSON: it is nested too deeply") from error
    except ValueError as error:  # huge integers raise it too
        raise FileError(f"{path} is not readable JSON: {error}") from error


def reason_of(error: Exception) -> str:
    """The system's error text, without the path, which the message already names."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; on success it replaces `path` atomically.

    If writing fails, for example because the disk is full, `path` keeps its content and no other
    file remains.
    """
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replacing_files(directory: Path) -> Iterator[Path]:
    """An empty directory whose files are then moved into `directory`, created if needed.

    Files move only after all are written, so a full disk keeps the old ones.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=directory) as name:
        scratch = Path(name)
        yield scratch
        files = sorted(scratch.iterdir())
        for file in files:
            _flush(file)
        for file in files:
            file.replace(directory / file.name)


def _flush(path: Path) -> None:
    """Flush to the disk; some file systems report a full disk only then."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _size(count: int) -> str:
    return f"{count // _MIB} MiB" if count >= _MIB else f"{count} bytes"
