"""Suggestions of clients, and what becomes of approved ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from service.commands.group import dragoman
from service.stores.suggestions import SuggestionStore
from tests.service.fakes import until
from tests.service.http.access.conftest import FIELDS, Serve
from tests.service.served import Served

SUGGESTED = {**FIELDS, "s": "Servus."}


@pytest.fixture
def suggestions(tmp_path: Path) -> Iterator[SuggestionStore]:
    with closing(SuggestionStore(tmp_path / "server.db")) as store:
        yield store


def post(server: Served, path: str, **fields: Any) -> httpx.Response:
    return httpx.post(server.url + path, json=fields, timeout=60)


def run(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(dragoman, ["suggestions", *arguments, "--database", str(path)])
    assert result.exit_code == 0, result.output
    return result.output


def test_only_an_approved_suggestion_is_the_answer_until_it_is_removed(
    serve: Serve, tmp_path: Path
) -> None:
    server, path = serve(suggestions=True), tmp_path / "server.db"
    assert httpx.get(f"{server.url}/frontend/settings").json()["suggestions"] is True
    assert post(server, "/suggest", **SUGGESTED).json() == {"success": True}
    assert post(server, "/suggest", **SUGGESTED).json() == {"success": True}  # stored once
    assert post(server, "/translate", **FIELDS).json() == {"translatedText": "HI."}
    (line,) = run(path, "list").splitlines()
    found = json.loads(line)
    pair = {"source": "en", "target": "de", "format": "text", "text": "Hi."}
    assert found == {"id": 1, **pair, "suggestion": "Servus."}
    run(path, "approve", "1")
    until(lambda: post(server, "/translate", **FIELDS).json() == {"translatedText": "Servus."})
    answer = post(server, "/translate", **{**FIELDS, "q": ["Hi.", "Ho."]}, alternatives=1).json()
    assert answer["translatedText"] == ["Servus.", "HO."]
    assert answer["alternatives"] == [["HI."], ["HO.*"]]
    for other in ({"q": "Hi"}, {"format": "html"}, {"source": "de", "target": "en"}):
        assert post(server, "/translate", **FIELDS | other).json()["translatedText"] != "Servus."
    run(path, "remove", "1")
    until(lambda: post(server, "/translate", **FIELDS).json() == {"translatedText": "HI."})


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"s": None}, 400),
        ({"s": " "}, 422),
    ],
)
def test_what_cannot_be_used_is_refused(serve: Serve, changed: dict[str, Any], status: int) -> None:
    assert post(serve(suggestions=True), "/suggest", **SUGGESTED | changed).status_code == status
