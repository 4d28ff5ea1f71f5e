"""The SQLite file that keeps keys, glossaries and suggestions between starts.

Each store opens the file for itself and creates its own tables. Several processes may have it open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

_WAIT_SECONDS = 5.0
"""How long a writer waits for another one."""


class DatabaseError(OSError):
    """The file cannot be used; the message names it."""


def open_database(path: Path, schema: str) -> sqlite3.Connection:
    """Open the file, or create it for its owner alone, and run `schema`.

    `schema`: SQL statements that may run again, such as CREATE TABLE IF NOT EXISTS. The connection
    commits each statement outside a transaction, and may be used by any one thread at a time.
    Raises DatabaseError.
    """
    try:
        _create(path)
        connection = sqlite3.connect(
            path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise DatabaseError(f"cannot open the database {path}: {error}") from error
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a writer
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(schema)
    except sqlite3.Error as error:
        connection.close()
        raise DatabaseError(f"cannot use the database {path}: {error}") from error
    return connection


def _create(path: Path) -> None:
    """Make an empty file for its owner alone, if there is none. An existing one is not even opened:
    to close it would drop this process's locks of it, those of other stores too
    (sqlite.org/howtocorrupt.html, 2.2)."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
