"""The SQLite file that keeps keys, glossaries and suggestions between starts.

Each store has connections of its own and creates its own tables. Several processes may have the
file open. Reads never wait for writes, which go to a log first; writes wait for each other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from service.errors import StorageFailed

WAIT_SECONDS = 0.25
"""How long a server waits for another writer."""
PATIENT_SECONDS = 5.0
"""How long a start and a command wait for it."""
_TURNS = 4
"""A user of a connection gives up when this many before it have waited for another writer."""
_DAMAGED = "it is damaged or of another version"
_PRIMARY = 0xFF
"""Of an extended error code."""
_logger = logging.getLogger(__name__)
_logger.addHandler(logging.NullHandler())  # a command prints its error itself


class DatabaseError(OSError):
    """The file cannot be used; the message names it."""


class Database:
    """One connection to the file, for any thread, one at a time.

    It commits each statement outside a transaction. If the file is moved away or replaced while the
    server runs, nothing is read or written until it is back in its place.
    """

    def __init__(self, path: Path, schema: str, wait_seconds: float = WAIT_SECONDS) -> None:
        """Open the file, or create it for its owner alone, and run `schema`: SQL statements that
        may run again, such as CREATE TABLE IF NOT EXISTS. Raises DatabaseError."""
        self._path, self._wait_seconds = path, wait_seconds
        self._lock = threading.Lock()
        self._connection = _open(path, schema, wait_seconds)
        self._file = _file_at(path)
        self._trouble = ""
        self._has_failed_writing = False
        """In the last transaction; reads tell nothing of a full disk or another writer."""

    @property
    def is_lost(self) -> bool:
        """Whether the file that was opened was moved or replaced."""
        return _file_at(self._path) != self._file

    @contextlib.contextmanager
    def use(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection, for the block alone. Raises StorageFailed for SQLite's errors in it."""
        if not self._lock.acquire(timeout=_TURNS * self._wait_seconds):
            raise _failure("it is busy")
        try:
            self._require_in_place()
            yield self._connection
            self._has_failed_writing &= not writes
            if not self._has_failed_writing:
                self._log_changed("")
        except sqlite3.Error as error:
            self._has_failed_writing |= writes
            self._log_changed(str(error))
            raise _failure(str(error), is_damaged=_is_damage(error)) from error
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """As `use`, to read. All reads of the block see the database as it was at the first."""
        with self.use() as connection, connection:
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """As `use`, to write. All writes of the block are stored, or none."""
        with self.use(writes=True) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def version(self) -> int:
        """A number that differs after another connection has changed the database. Raises
        StorageFailed."""
        with self.use() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
        assert isinstance(version, int)
        return version

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _require_in_place(self) -> None:
        """Empty the log of a file that was moved: it stays behind, and would be taken for that of
        the next file of this name. Raises sqlite3.Error."""
        if self.is_lost:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raise sqlite3.OperationalError("its file was moved or replaced")

    def _log_changed(self, trouble: str) -> None:
        """Log when the database becomes unusable, and when it can be used again."""
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                _logger.error("the database %s cannot be used: %s", self._path, trouble)
            else:
                _logger.info("the database %s can be used again", self._path)


def _failure(reason: str, *, is_damaged: bool = False) -> StorageFailed:
    if is_damaged:
        return StorageFailed(f"the database cannot be used: {_DAMAGED} ({reason})")
    return StorageFailed(f"the database cannot be used now ({reason}); try again later")


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is wrong, which does not pass; what this module raises has no code."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _open(path: Path, schema: str, wait_seconds: float) -> sqlite3.Connection:
    try:
        _create(path)
        connection = sqlite3.connect(
            path, timeout=PATIENT_SECONDS, isolation_level=None, check_same_thread=False
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise DatabaseError(f"cannot open the database {path}: {reason}") from error
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot open the database {path}: {_obstacle(path, error)}") from error
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(schema)
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * wait_seconds)}")
    except sqlite3.Error as error:
        connection.close()
        reason = f"{_DAMAGED} ({error})" if _is_damage(error) else _obstacle(path, error)
        raise DatabaseError(f"cannot use the database {path}: {reason}") from error
    return connection


def _obstacle(path: Path, error: sqlite3.Error) -> str:
    """Why SQLite cannot open or write a file, or one beside it, which it does not say."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    if code & _PRIMARY not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return str(error)
    if path.is_dir():
        return "it is a directory, not a file"
    for needed in (path, path.parent):  # which gets the log
        if not os.access(needed, os.R_OK | os.W_OK):
            return f"{needed} must be readable and writable ({error})"
    return str(error)


def _create(path: Path) -> None:
    """Make an empty file that only its owner can read, if it is missing. An existing one is not
    even opened: to close it would drop this process's locks of it, those of other stores too
    (sqlite.org/howtocorrupt.html, 2.2)."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _file_at(path: Path) -> tuple[int, int] | None:
    """The device and number of the file at a path; None if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
