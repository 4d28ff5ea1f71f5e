"""dragoman keys and dragoman suggestions, beside what servers do with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.commands.group import dragoman
from service.stores.keys import KeyStore
from service.stores.suggestions import SuggestionStore


def run(*arguments: str) -> Result:
    return CliRunner().invoke(dragoman, arguments)


def listed(path: Path) -> list[dict[str, object]]:
    result = run("keys", "list", "--json", "--database", str(path))
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_key_is_shown_once_and_its_life_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    options = ["--name", "Anna", "--requests-per-minute", "5", "--expires", "2999-01-31"]
    created = run("keys", "create", "--database", str(path), *options)
    written = created.stdout.strip()
    assert (created.exit_code, len(written)) == (0, 65)
    (key,) = listed(path)
    assert written not in json.dumps(key)
    assert key.items() >= {"name": "Anna", "state": "valid", "requests_per_minute": 5}.items()
    assert key["expires"] == "2999-01-31T00:00Z"
    key_id = str(key["id"])
    changes = ["--requests-per-minute", "default", "--expires", "never"]
    assert run("keys", "change", key_id, "--database", str(path), *changes).exit_code == 0
    (key,) = listed(path)
    assert (key["requests_per_minute"], key["expires"], key["name"]) == (None, None, "Anna")
    assert run("keys", "revoke", key_id, "--database", str(path)).exit_code == 0
    assert [key["state"] for key in listed(path)] == ["revoked"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["keys", "revoke", "x"], "there is no key with the id x"),
        (["keys", "create", "--expires", "soon"], "no time such as 2027-01-31"),
        (["suggestions", "approve", "7"], "0 of 1 suggestions were found"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    path = tmp_path / "server.db"
    for store in (KeyStore, SuggestionStore):
        store(path).close()
    result = run(*arguments, "--database", str(path))
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["keys", "suggestions", "glossary"])
def test_a_list_of_a_missing_database_does_not_create_it(tmp_path: Path, command: str) -> None:
    path = tmp_path / "server.db"
    result = run(command, "list", "--database", str(path))
    assert (result.exit_code, result.stderr) == (2, f"dragoman: there is no database {path}\n")
    assert not path.exists()


@pytest.mark.parametrize("command", ["keys", "suggestions"])
def test_without_a_database_the_setting_is_named(command: str) -> None:
    result = run(command, "list")
    assert result.exit_code == 2
    assert "DRAGOMAN_DATABASE" in result.stderr
