"""Suggestions of clients, and what becomes of approved ones."""

from __future__ import annotations

import json
import subprocess
import sys
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
from service.stores.suggestions import SuggestedPair, SuggestionStore
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
    others = ({"q": "Hi"}, {"q": "hi!"}, {"source": "de", "target": "en"})
    wishes = (
        {"keep": "Hi"},
        {"glossary": [{"source": "a", "target": "b"}]},
        {"target_prefix": "H"},
    )
    for other in (*others, *wishes):
        assert post(server, "/translate", **FIELDS | other).json()["translatedText"] != "Servus."
    run(path, "remove", "1")
    until(lambda: post(server, "/translate", **FIELDS).json() == {"translatedText": "HI."})


def test_a_server_hears_of_all_that_changes_what_is_in_use(suggestions: SuggestionStore) -> None:
    pair = SuggestedPair("en", "de", "text", "Hi.")
    numbers = [suggestions.num_approvals()]
    for change in (
        lambda: suggestions.add_approved([(pair, "Servus.")]),
        lambda: suggestions.add_approved([(pair, "Hallo.")]),
        lambda: suggestions.approve([1]),
        lambda: suggestions.remove([1]),
    ):
        change()
        numbers.append(suggestions.num_approvals())
    assert len(set(numbers)) == len(numbers)


def test_no_alternative_is_the_suggestion_again(serve: Serve, tmp_path: Path) -> None:
    server, path = serve(suggestions=True), tmp_path / "server.db"
    for text in ("HI.", "HI.*"):
        post(server, "/suggest", **{**SUGGESTED, "s": text})
    for number, text, others in (("1", "HI.", ["HI.*"]), ("2", "HI.*", ["HI."])):
        run(path, "approve", number)

        def answer() -> dict[str, object]:
            found: dict[str, object] = post(
                server, "/translate", **FIELDS, details=True, alternatives=1
            ).json()
            return found

        until(lambda: "suggestion" in json.dumps(answer()))
        until(lambda text=text: answer()["translatedText"] == text)
        assert answer()["alternatives"] == others


MEMORY = """Tom & Jerry\tTom & Anna
the house\tdas Haus
<b0>Open</b0> it\t<b0>Öffne</b0> es
"""


@pytest.fixture
def remembering(serve: Serve, tmp_path: Path) -> Served:
    """A server with units in use."""
    path, memory = tmp_path / "server.db", tmp_path / "memory.tsv"
    memory.write_text(MEMORY, encoding="utf-8")
    run(path, "import", str(memory), "--source", "en", "--target", "de")
    return serve(suggestions=True)


@pytest.mark.parametrize(
    ("text", "text_format", "expected", "is_exact"),
    [
        ("the house", "text", "das Haus", True),
        ("The house", "text", "Das Haus", False),
        ("  the\n house ", "text", "  das Haus ", False),
        ("The  house", "html", "Das Haus", False),
        ("Tom & Jerry", "text", "Tom & Anna", True),
        ("Tom &amp; Jerry", "html", "Tom &amp; Anna", False),
        ("Tom &amp; Jerry", "text", None, False),
        ("<b0>Open</b0> it", "auto", "<b0>Öffne</b0> es", True),
        ("<b0>Open</b0> it", "html", "<b0>Öffne</b0> es", True),
        ("the houses", "text", None, False),
        ("THE HOUSE", "text", None, False),
    ],
)
def test_a_unit_answers_its_text_whatever_the_white_space_and_the_first_letters_case(
    remembering: Served, text: str, text_format: str, expected: str | None, is_exact: bool
) -> None:
    asked = {**FIELDS, "q": text, "format": text_format, "details": True, "alternatives": 1}
    answer = post(remembering, "/translate", **asked).json()
    suggestion = answer["details"][0].get("suggestion")
    if expected is None:
        assert suggestion is None
        assert answer["translatedText"] == text.upper() or "&" in text
        return
    assert (answer["translatedText"], suggestion["is_exact"]) == (expected, is_exact)
    assert suggestion["text"] in MEMORY
    assert answer["alternatives"][0].casefold().split() == text.casefold().split()


def test_the_unit_that_came_last_is_used_and_an_export_says_the_same(
    serve: Serve, tmp_path: Path
) -> None:
    path, memory = tmp_path / "server.db", tmp_path / "memory.csv"
    pair = ("--source", "en", "--target", "de")
    memory.write_text("Hi.,Servus.\nhi.,hallo.\nHi.,Moin.\n,x\n", encoding="utf-8")
    said = run(path, "import", str(memory), *pair)
    assert said.splitlines()[0] == "units in use: 3"
    assert said.splitlines()[1].startswith("units skipped: 1 (no text")
    server = serve(suggestions=True)
    assert post(server, "/translate", **FIELDS).json() == {"translatedText": "Moin."}
    memory.write_text("Hi.,Servus.\n", encoding="utf-8")
    run(path, "import", str(memory), *pair)
    until(lambda: post(server, "/translate", **FIELDS).json()["translatedText"] == "Servus.")
    assert len(run(path, "list", "--approved").splitlines()) == 3  # none is stored twice
    other, copy = tmp_path / "other.db", tmp_path / "copy.tmx"
    copy.write_text(run(path, "export", *pair), encoding="utf-8")
    run(other, "import", str(copy), *pair)
    for kind in ("tmx", "tsv", "csv"):
        assert run(path, "export", *pair, "--format", kind) == run(
            other, "export", *pair, "--format", kind
        )
    assert "Hi." not in run(path, "export", "--source", "de", "--target", "en")


def test_an_export_ends_when_nobody_reads_it_any_more(
    suggestions: SuggestionStore, tmp_path: Path
) -> None:
    pairs = [SuggestedPair("en", "de", "auto", f"{number} cats") for number in range(9000)]
    suggestions.add_approved([(pair, pair.text) for pair in pairs])
    options = ["--source", "en", "--target", "de", "--database", str(tmp_path / "server.db")]
    command = [sys.executable, "-m", "dragoman", "suggestions", "export", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        try:
            assert process.wait(60) == 141
        finally:
            process.kill()


def test_a_memory_is_no_room_for_suggestions_of_clients(
    remembering: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestion_store, "MAX_WAITING", 1)
    answers = [post(remembering, "/suggest", **SUGGESTED | {"s": one}) for one in "ab"]
    assert [one.status_code for one in answers] == [200, 403]


@pytest.mark.parametrize(
    ("name", "content", "options", "told"),
    [
        ("a.txt", "a\tb", (), "must end in .tmx, .tsv or .csv"),
        ("a.tsv", "a\tb", ("--target", "<de>"), "'<de>' is no language such as en"),
        ("a.tsv", "a\tb", ("--source", "auto"), "'auto' is no language such as en"),
        ("a.tsv", "a\tb", ("--target", "en"), "must differ, got en twice"),
        ("a.tmx", "<html/>", (), "must be TMX"),
        ("a.csv", 1500 * "a,b\n" + '"', (), "units in use: 1000"),
    ],
)
def test_a_memory_that_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, content: str, options: tuple[str, ...], told: str
) -> None:
    memory = tmp_path / name
    memory.write_text(content, encoding="utf-8")
    asked = ["import", str(memory), "--source", "en", "--target", "de", *options]
    database = ["--database", str(tmp_path / "server.db")]
    result = CliRunner().invoke(dragoman, ["suggestions", *asked, *database])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert told in line


def test_the_machine_answers_while_the_suggestions_cannot_be_read(
    remembering: Served, tmp_path: Path
) -> None:
    asked = {**FIELDS, "q": "the house"}
    assert post(remembering, "/translate", **asked).json()["translatedText"] == "das Haus"
    (tmp_path / "server.db").rename(tmp_path / "away.db")
    assert post(remembering, "/translate", **asked).json()["translatedText"] == "THE HOUSE"
    (tmp_path / "away.db").rename(tmp_path / "server.db")
    assert post(remembering, "/translate", **asked).json()["translatedText"] == "das Haus"


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


def test_the_number_of_suggestions_is_bounded_and_one_that_is_stored_may_come_again(
    serve: Serve, suggestions: SuggestionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestion_store, "MAX_WAITING", 2)
    server = serve(suggestions=True)
    statuses = [post(server, "/suggest", **SUGGESTED | {"s": one}).status_code for one in "01230"]
    assert statuses == [200, 200, 403, 403, 200]
    assert [one.suggestion for one in suggestions.read(is_approved=False)] == ["0", "1"]
