"""What may pass has an exit code of its own: a supervisor tries it again."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.app import create_app
from service.commands.process import failing_in_one_line
from service.commons.local import local_commons
from service.commons.spool import Spool
from service.settings import Settings
from service.settings.startup import StartupError, startup_errors
from service.stores import database
from service.stores.keys import KeyStore
from tests.service.fakes import FakeRunner, fake_model


def no_memory(_: Path) -> None:
    with startup_errors("zh-en"):
        raise MemoryError("the caches do not fit into memory")


def no_thread(_: Path) -> None:
    raise RuntimeError("can't start new thread")


def locked_directory(path: Path) -> None:
    with Spool(path).opened():
        local_commons(Settings(documents_dir=path), None)


def no_directory(path: Path) -> None:
    (path / "file").touch()
    local_commons(Settings(documents_dir=path / "file"), None)


def busy_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path / "db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        serve_with(path / "db")


def damaged_database(path: Path) -> None:
    (path / "db").write_text("no database" * 1000)
    serve_with(path / "db")


def database_with_damaged_pages(path: Path) -> None:
    KeyStore(path / "db").close()
    whole = (path / "db").read_bytes()
    (path / "db").write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    serve_with(path / "db")


def database_of_another_version(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path / "db")) as other:
        other.execute("CREATE TABLE api_keys (id TEXT)")
    serve_with(path / "db")


def serve_with(path: Path) -> None:
    create_app(Settings(database=path, api_keys="required"), [fake_model(FakeRunner())])


@pytest.mark.parametrize("start", [database_with_damaged_pages, database_of_another_version])
def test_a_start_that_fails_leaves_no_database_open(
    start: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, connect = list[sqlite3.Connection](), sqlite3.connect

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connected)
    with pytest.raises(StartupError):
        start(tmp_path)
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")


PASSES = [(no_memory, ""), (no_thread, ""), (locked_directory, "another server")]
PASSES += [(busy_database, "is locked")]
STAYS = [(no_directory, "documents_dir"), (damaged_database, "damaged or of another version")]
STAYS += [(one, "damaged or of another version")
          for one in (database_with_damaged_pages, database_of_another_version)]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "word", "code"), [(*one, 75) for one in PASSES] + [(*one, 2) for one in STAYS]
)
def test_a_start_that_may_succeed_later_has_an_exit_code_of_its_own(
    start: Callable[[Path], None],
    word: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(database, "PATIENT_SECONDS", 0.1)
    with pytest.raises(SystemExit) as ended, failing_in_one_line():
        start(tmp_path)
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (code, 1)
    assert word in said
    assert ("try again" in said) <= (code == 75)
