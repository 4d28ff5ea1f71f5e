"""The SQLite file of the stores: its rows last, and only its owner reads it."""

from __future__ import annotations

import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from service.stores.database import DatabaseError, open_database

_SCHEMA = "CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY);"


def test_rows_outlive_the_connection_and_another_connection_sees_them(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    with closing(open_database(path, _SCHEMA)) as first, closing(open_database(path, "")) as second:
        first.execute("INSERT INTO names VALUES ('a')")
        assert second.execute("SELECT name FROM names").fetchall() == [("a",)]
    with closing(open_database(path, _SCHEMA)) as again:
        assert again.execute("SELECT name FROM names").fetchall() == [("a",)]


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    open_database(path, _SCHEMA).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"no database\n" * 100, None])
def test_a_file_that_is_no_database_is_refused_by_name(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "server.db"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"server\.db"):
        open_database(path, _SCHEMA)


def test_a_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match=r"missing/server\.db"):
        open_database(tmp_path / "missing" / "server.db", _SCHEMA)


def test_another_process_that_comes_and_goes_does_not_take_what_is_written_later(
    tmp_path: Path,
) -> None:
    """A process loses its locks on a file when it closes any descriptor of it: the other one would
    believe to be the last, and remove the log that this one goes on writing."""
    path = tmp_path / "server.db"

    def count_elsewhere() -> int:
        query = "SELECT count(*) FROM names"
        code = (
            f"import sqlite3; print(*sqlite3.connect({str(path)!r}).execute({query!r}).fetchone())"
        )
        return int(subprocess.check_output([sys.executable, "-c", code], text=True))

    with closing(open_database(path, _SCHEMA)) as first, closing(open_database(path, "")) as second:
        first.execute("INSERT INTO names VALUES ('a')")
        assert count_elsewhere() == 1
        first.execute("INSERT INTO names VALUES ('b')")
        second.execute("INSERT INTO names VALUES ('c')")
        assert count_elsewhere() == 3
    assert count_elsewhere() == 3
