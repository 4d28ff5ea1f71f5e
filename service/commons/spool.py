"""The directory of sent files and their translations."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from service.commons.stored_file import StoredFile, is_secret

_PREFIX = "dragoman-files-"
"""How the names of temporary directories begin."""
_SENT, _TRANSLATED, _RECORD = ".sent", ".translated", ".json"
_LOCK = "lock"
_NEW_SECONDS = 60
"""A directory that is younger may be one whose server has not locked it yet."""


class Spool:
    """Files by name: what was sent, its translation, and a record of both.

    Any process of a server reads and writes contents; the one that opens the directory keeps the
    records. A temporary directory is removed at the end, or by the next server.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @staticmethod
    def temporary() -> Path:
        """A directory that is not there yet."""
        return _temporary_root() / f"{_PREFIX}{secrets.token_hex(8)}"

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Have the directory for this server alone inside the block. Raises OSError."""
        is_temporary = _is_temporary(self._directory)
        if is_temporary:
            _remove_left(self._directory)
        with self._locked():
            yield
            if is_temporary:
                shutil.rmtree(self._directory, ignore_errors=True)

    def check(self) -> None:
        """Raises OSError unless this server may have the directory."""
        with self._locked():
            return

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._directory / _LOCK, "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def write_sent(self, name: str, content: bytes) -> None:
        """Raises OSError."""
        self._write(name + _SENT, content)

    def read_sent(self, name: str) -> bytes:
        """Raises OSError."""
        return (self._directory / (name + _SENT)).read_bytes()

    def write_translated(self, name: str, content: bytes) -> None:
        """Raises OSError."""
        self._write(name + _TRANSLATED, content)

    def open_translated(self, name: str) -> BinaryIO:
        """It can be read when it is removed, too. Raises OSError."""
        return open(self._directory / (name + _TRANSLATED), "rb")

    def write_record(self, file: StoredFile) -> None:
        """Raises OSError."""
        self._write(file.name + _RECORD, msgspec.json.encode(file))

    def read_records(self) -> Iterator[StoredFile]:
        """The records that can be read. What belongs to none is removed; files that are not of a
        server stay."""
        names = set()
        for path in self._directory.glob(f"*{_RECORD}"):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                file = msgspec.json.decode(path.read_bytes(), type=StoredFile)
                names.add(file.name)
                yield file
        for path in self._directory.glob("*.*"):
            name = path.name.partition(".")[0]
            if is_secret(name) and name not in names:
                path.unlink(missing_ok=True)

    def remove_sent(self, name: str) -> None:
        self._remove(name, _SENT)

    def remove_translated(self, name: str) -> None:
        self._remove(name, _TRANSLATED)

    def remove(self, *names: str) -> None:
        for name in names:
            for suffix in (_SENT, _TRANSLATED, _RECORD):
                self._remove(name, suffix)

    def _remove(self, name: str, suffix: str) -> None:
        with contextlib.suppress(OSError):
            (self._directory / (name + suffix)).unlink()

    def _write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all, which only the server's user may read."""
        path = self._directory / name
        partial = path.with_name(f"{name}.part")
        try:
            if _is_temporary(self._directory):  # what cleans /tmp may have removed it
                self._directory.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
            partial.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise


def _temporary_root() -> Path:
    return Path(tempfile.gettempdir())


def _is_temporary(directory: Path) -> bool:
    return directory.name.startswith(_PREFIX) and directory.parent == _temporary_root()


def _remove_left(own: Path) -> None:
    """Remove the other temporary directories, of servers that were killed."""
    for directory in own.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            is_new = time.time() - directory.stat().st_mtime < _NEW_SECONDS
            if is_new or directory == own:
                continue
            with open(directory / _LOCK, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory)
