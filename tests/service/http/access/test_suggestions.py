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
from websockets.sync.client import connect

import service.stores.suggestions as suggestion_store
from service.commands.group import dragoman
from service.stores.suggestions import SuggestionStore
from tests.service.fakes import until
from tests.service.http.access.conftest import Serve, stream_url
from tests.service.http.clients import FIELDS
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
    others = ({"q": "Hi"}, {"format": "html"}, {"source": "de", "target": "en"}, {"keep": "Hi"})
    for other in others:
        assert post(server, "/translate", **FIELDS | other).json()["translatedText"] != "Servus."
    run(path, "remove", "1")
    until(lambda: post(server, "/translate", **FIELDS).json() == {"translatedText": "HI."})


def test_a_stream_of_a_suggested_text_adds_up_to_the_suggestion(
    serve: Serve, suggestions: SuggestionStore
) -> None:
    server = serve(suggestions=True)
    post(server, "/suggest", **SUGGESTED)
    suggestions.approve([1])
    until(lambda: post(server, "/translate", **FIELDS).json()["translatedText"] == "Servus.")
    with connect(stream_url(server)) as socket:
        socket.send(json.dumps({"id": 1, **FIELDS, "q": ["Ho.", "Hi."]}))
        parts = ["", ""]
        while (message := json.loads(socket.recv()))["type"] == "token":
            parts[message["index"]] += message["text"]
    assert message["translatedText"] == parts == ["HO.", "Servus."]
    stream = {"headers": {"Accept": "text/event-stream"}, "json": {**FIELDS, "target": "fr"}}
    assert httpx.post(server.url + "/translate", **stream).status_code == 400  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"s": None}, 400),
        ({"q": "x" * 1001}, 422),
        ({"s": "x" * 1001}, 422),
        ({"s": " "}, 422),
        ({"target": "zz"}, 400),
        ({"source": "auto"}, 400),
    ],
)
def test_what_cannot_be_used_is_refused(serve: Serve, changed: dict[str, Any], status: int) -> None:
    assert post(serve(suggestions=True), "/suggest", **SUGGESTED | changed).status_code == status


def test_the_number_of_suggestions_is_bounded(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestion_store, "MAX_SUGGESTIONS", 2)
    server = serve(suggestions=True)
    statuses = [post(server, "/suggest", **SUGGESTED | {"s": f"{n}"}).status_code for n in range(4)]
    assert statuses == [200, 200, 403, 403]
