"""The SQLite file of the stores: its rows last, only its owner reads it, and trouble is told."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from service.errors import StorageFailed
from service.stores.database import Database, DatabaseError

_SCHEMA = "CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY);"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with closing(Database(path, _SCHEMA, wait_seconds=0.01)) as database:
        yield database


def write(database: Database, name: str) -> None:
    with database.use() as connection:
        connection.execute("INSERT INTO names VALUES (?)", (name,))


def names(database: Database) -> list[str]:
    with database.use() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM names ORDER BY name")]


def test_rows_outlive_the_connection_and_another_connection_sees_them(
    path: Path, database: Database
) -> None:
    with closing(Database(path, "")) as other:
        write(database, "a")
        assert names(other) == ["a"]
    database.close()
    with closing(Database(path, _SCHEMA)) as again:
        assert names(again) == ["a"]


def test_a_transaction_is_stored_whole_or_not_at_all(database: Database) -> None:
    insert = "INSERT INTO names VALUES (?)"
    with pytest.raises(StorageFailed, match="UNIQUE"), database.transaction() as connection:
        connection.executemany(insert, ["a", "b", "a"])
    with database.transaction() as connection:
        connection.executemany(insert, ["b", "c"])
    assert names(database) == ["b", "c"]


@pytest.mark.usefixtures("database")
def test_only_the_owner_can_read_the_file(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"no database\n" * 100, None])
def test_a_file_that_is_no_database_is_refused_by_name(path: Path, content: bytes | None) -> None:
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"server\.db"):
        Database(path, _SCHEMA)


def test_while_another_writes_readers_go_on_and_a_writer_is_told(
    path: Path, database: Database
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert names(database) == []
        with pytest.raises(StorageFailed, match="database is locked"):
            write(database, "a")
        with pytest.raises(StorageFailed, match="locked"), database.transaction():
            pass
        other.execute("ROLLBACK")
    write(database, "a")
    with database.use(), pytest.raises(StorageFailed, match="busy"):
        names(database)
    assert names(database) == ["a"]


def test_the_log_says_that_it_can_be_used_again_once_it_can_be_written(
    path: Path, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk, or another writer, lets reads go on."""
    caplog.set_level("INFO")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(StorageFailed), database.transaction():
                pass
            assert names(database) == []
        other.execute("ROLLBACK")
    assert [line.rpartition("server.db ")[2] for line in caplog.messages] == [
        "cannot be used: database is locked"
    ]
    with database.transaction():
        pass
    assert caplog.messages[1:] == [f"the database {path} can be used again"]


def test_a_file_that_was_moved_is_whole_and_is_not_used_until_it_is_back(
    path: Path, database: Database
) -> None:
    write(database, "a")
    away = path.with_name("away.db")
    path.rename(away)
    with pytest.raises(StorageFailed, match="moved or replaced"):
        write(database, "b")
    assert database.is_lost
    with closing(Database(away, "")) as moved:
        assert names(moved) == ["a"]
    away.rename(path)
    write(database, "b")
    assert names(database) == ["a", "b"]


def test_another_process_that_comes_and_goes_does_not_take_what_is_written_later(
    path: Path, database: Database
) -> None:
    """A process loses its locks on a file when it closes any descriptor of it: the other one would
    believe to be the last, and remove the log that this one goes on writing."""

    def count_elsewhere() -> int:
        query = "SELECT count(*) FROM names"
        code = (
            f"import sqlite3; print(*sqlite3.connect({str(path)!r}).execute({query!r}).fetchone())"
        )
        return int(subprocess.check_output([sys.executable, "-c", code], text=True))

    with closing(Database(path, "")) as second:
        write(database, "a")
        assert count_elsewhere() == 1
        write(database, "b")
        write(second, "c")
        assert count_elsewhere() == 3
    database.close()
    assert count_elsewhere() == 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing/a.db", "No such file or directory"),
        ("directory", "it is a directory, not a file"),
        ("closed.db", ".*closed.db must be readable and writable .*"),
        ("log.db", ".*test[^/]* must be readable and writable .*"),
    ],
)
def test_what_keeps_a_database_from_being_opened_is_said_once(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everything, so directories stand where files are wanted."""
    path = tmp_path / name
    (tmp_path / "directory").mkdir()
    for file in ("closed.db", "log.db"):
        (tmp_path / file).touch()
        (tmp_path / f"{file}-journal").mkdir()
    closed = path if name == "closed.db" else tmp_path
    monkeypatch.setattr(os, "access", lambda asked, _: asked != closed)
    with pytest.raises(DatabaseError) as raised:
        Database(path, _SCHEMA)
    assert re.fullmatch(f"cannot (open|use) the database {path}: {reason}", str(raised.value))
