"""dragoman glossary, on a real database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.commands.group import dragoman
from service.stores.api_key import EVERYBODY
from service.stores.glossaries import GlossaryStore

PAIR = ["--from", "en", "--to", "de"]


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(dragoman, ["glossary", *arguments, "--database", str(path)])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "server.db"


def test_terms_are_added_replaced_shown_and_removed(database: Path) -> None:
    added = run(database, "add", "rivers", "bank", "Bank", *PAIR)
    assert added.output == "rivers: en to de, 1 terms\n"
    assert run(database, "add", "rivers", "Rhine", "Rhein", "--case-sensitive").exit_code == 0
    assert run(database, "add", "rivers", "bank", "Ufer").exit_code == 0
    shown = run(database, "show", "rivers").output.splitlines()
    assert shown == ["Rhine -> Rhein  (case-sensitive)", "bank -> Ufer"]
    assert run(database, "list").output == "rivers\ten-de\t2\n"
    assert run(database, "remove", "rivers").exit_code == 0
    assert run(database, "list").output == ""


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_what_is_exported_can_be_imported(database: Path, tmp_path: Path, suffix: str) -> None:
    store = GlossaryStore(database)
    run(database, "add", "one", 'a "quoted", term', "ein Wort", *PAIR)
    file = tmp_path / f"terms.{suffix}"
    file.write_text(run(database, "export", "one", "--format", suffix).output, encoding="utf-8")
    assert run(database, "import", "two", str(file), *PAIR).exit_code == 0
    assert store.entries("two", EVERYBODY) == store.entries("one", EVERYBODY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "new", "bank", "Ufer"], "there is no glossary 'new'; for a new one give --from"),
        (["add", "new", "", "Ufer", *PAIR], "source"),
        (["show", "none"], "there is no glossary"),
        (["export", "none"], "there is no glossary"),
        (["remove", "none"], "there is no glossary"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    database: Path, arguments: list[str], words: str
) -> None:
    result = run(database, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["list"], ["show", "a"], ["add", "a", "b", "c", *PAIR]])
def test_tables_of_another_program_are_refused_in_one_line(
    database: Path, arguments: list[str]
) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE glossaries (other TEXT)")
    result = run(database, *arguments)
    assert result.exit_code == 2
    assert f"the database {database} cannot be used" in result.stderr
