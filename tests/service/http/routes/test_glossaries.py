"""Glossaries over HTTP: in requests and stored; and what rude clients get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from service.stores.glossary_files import CSV, TBX, XLSX
from tests.service.fakes import FakeRunner
from tests.service.http.clients import FIELDS, by_events, by_websocket, client_of
from tests.service.stores.glossary_writers import WRITERS

TERMS = [{"source": "dog", "target": "Hund"}, {"source": "cat", "target": "Katze"}]
ASKED = {**FIELDS, "q": "A dog."}


@pytest.fixture
def stored(runner: FakeRunner, tmp_path: Path) -> Iterator[TestClient]:
    """A server with a database."""
    with client_of(runner, max_characters=1000, database=tmp_path / "d.sqlite") as client:
        yield client


def ask(client: TestClient, **fields: Any) -> Any:
    return client.post("/translate", json={**ASKED, **fields})


def translated(client: TestClient, **fields: Any) -> Any:
    return ask(client, **fields).json()["translatedText"]


def create(client: TestClient, **fields: Any) -> Any:
    given = {"name": "pets", "source": "en", "target": "de", "entries": TERMS, **fields}
    return client.post("/glossaries", json=given)


def test_as_many_terms_as_a_glossary_may_have_come_as_json(stored: TestClient) -> None:
    terms = [
        {"source": f"dog {i}", "target": f"Hund {i}", "case_sensitive": True} for i in range(10_000)
    ]
    assert create(stored, entries=terms).json()["entry_count"] == 10_000
    refused = create(stored, name="more", entries=[*terms, TERMS[0]])
    assert (refused.status_code, "10000" in refused.text) == (422, True)
    flat = create(stored, name="flat", entries=[0] * 50_000)
    assert (flat.status_code, flat.json()["code"]) == (413, "body_too_large")


def test_terms_of_a_request_reach_the_sentences_that_have_them(client: TestClient) -> None:
    answer = ask(client, q=["Two dogs, a dog.", "None."], glossary=TERMS)
    assert answer.json()["translatedText"] == ["TWO Hund, A Hund.", "NONE."]
    form = client.post("/translate", data={**ASKED, "glossary": json.dumps(TERMS)})
    assert form.json()["translatedText"] == "A Hund."
    given = {"source": "en", "target": "de", "glossary": json.dumps(TERMS)}
    file = client.post("/translate_file", data=given, files={"file": ("a.txt", b"A dog.")}).json()
    assert client.get(file["translatedFileUrl"]).content == b"A Hund."
    for way in (by_events, by_websocket):
        assert way(client, **ASKED, glossary=TERMS)["translatedText"] == "A Hund."


def test_kept_strings_have_no_terms(client: TestClient) -> None:
    assert translated(client, keep="dog", glossary=TERMS).count("Hund") == 0
    page = "<p>A <span translate='no'>dog</span> and a <b>cat</b>.</p>"
    found = translated(client, q=page, format="html", glossary=TERMS)
    assert "Hund" not in found
    assert "<b>" in found


def test_a_term_that_the_translation_lacks_is_among_the_checks(
    client: TestClient, runner: FakeRunner
) -> None:
    def checks(text: str) -> list[dict[str, Any]]:
        (detail,) = ask(client, q=text, glossary=TERMS, details=True).json()["details"]
        return [check for sentence in detail["sentences"] for check in sentence["checks"]]

    assert checks("A dog.") == []
    runner.garbled["THE DOG."] = "."
    (lost,) = checks("The dog.")
    assert (lost["kind"], lost["source"]) == ("term", ["dog"])


@pytest.mark.parametrize(
    ("glossary", "message"),
    [
        ([{"source": "", "target": "a"}], "1 to 200 characters"),
        ([{"source": "a", "target": "b" * 201}], "1 to 200 characters"),
        ([{"source": "a", "target": "b", "case_sensitive": 1}], "glossary must be"),
        ([TERMS[0]] * 1001, "at most 1000 terms"),
        ("[", "valid JSON"),
        (5, "glossary must be"),
    ],
)
def test_a_wrong_glossary_is_refused(client: TestClient, glossary: object, message: str) -> None:
    answer = ask(client, glossary=glossary)
    assert answer.status_code == 422, answer.text
    assert message in answer.json()["error"]


def test_a_glossary_goes_with_sampling_but_not_with_a_pivot(client: TestClient) -> None:
    assert translated(client, glossary=TERMS, top_k=3) == "A Hund."
    answer = ask(client, q="一只狗。", source="zh", glossary=TERMS)
    assert answer.status_code == 422
    assert "from zh to de, because that goes through en" in answer.json()["error"]


def test_null_and_an_empty_list_are_no_glossary(client: TestClient) -> None:
    for glossary in (None, []):
        assert translated(client, glossary=glossary) == "A DOG."


def test_without_a_database_the_setting_is_named(client: TestClient) -> None:
    for answer in (ask(client, glossary="pets"), client.get("/glossaries"), create(client)):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_glossary")
        assert "setting database" in answer.json()["error"]


def test_a_stored_glossary_is_used_by_name_and_id(stored: TestClient) -> None:
    made = create(stored)
    assert (made.status_code, made.json()["entry_count"]) == (201, 2)
    for key in ("pets", made.json()["id"]):
        assert translated(stored, glossary=key) == "A Hund."
    missing, other = ask(stored, glossary="none"), ask(stored, glossary="pets", target="zh")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_glossary")
    assert other.status_code == 422
    assert "is for en to de, not for en to zh" in other.json()["error"]


def test_glossaries_are_created_listed_replaced_and_removed(stored: TestClient) -> None:
    assert [create(stored).status_code for _ in range(2)] == [201, 409]
    assert [one["name"] for one in stored.get("/glossaries").json()["glossaries"]] == ["pets"]
    whole = stored.get("/glossaries/pets").json()
    assert whole["entries"] == [{**term, "case_sensitive": False} for term in TERMS]
    tsv = stored.get("/glossaries/pets", headers={"Accept": "text/tab-separated-values"})
    assert tsv.text == "dog\tHund\ncat\tKatze\n"
    changed = stored.put(
        "/glossaries/pets?source=en&target=de",
        content="dog,Köter,case_sensitive\n".encode(),
        headers={"Content-Type": "text/csv"},
    )
    assert (changed.status_code, changed.json()["entry_count"]) == (200, 1)
    assert translated(stored, glossary="pets") == "A Köter."
    new = stored.put("/glossaries/new", json={"source": "en", "target": "de", "entries": TERMS})
    assert new.status_code == 201
    assert stored.delete("/glossaries/pets").status_code == 204
    assert stored.delete("/glossaries/pets").status_code == 404


@pytest.mark.parametrize("name", ["a/b", "/", "EN/DE ö?%#", "a//b/", "x.", "...", "id"])
def test_a_glossary_of_any_name_is_read_used_replaced_and_removed(
    stored: TestClient, name: str
) -> None:
    assert create(stored, name=name).status_code == 201
    path = f"/glossaries/{quote(name, safe='')}"
    whole = stored.get(path).json()
    assert whole["name"] == name
    assert translated(stored, glossary=name) == "A Hund."
    for own in (path, f"/glossaries/{whole['id']}"):
        put = stored.put(own, json=whole)
        assert (put.status_code, put.headers.get("X-Ignored-Fields")) == (200, None)
        other = stored.put(own, json={**whole, "name": "other"})
        assert (other.json()["name"], other.headers["X-Ignored-Fields"]) == (name, "name")
    assert stored.delete(path).status_code == 204
    assert stored.get("/glossaries").json() == {"glossaries": []}


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("text/csv", "text/csv"),
        ("text/csv;q=0", "application/json"),
        ("application/json, text/csv;q=0.1", "application/json"),
        ("application/json;q=0.1, Text/CSV ; Q=0.5", "text/csv"),
        ("text/csv;q=0.5, text/tab-separated-values", "text/tab-separated-values"),
        ("text/csv;q=0.5, */*", "application/json"),
        ("text/csv, */*;q=0.1", "text/csv"),
        ("text/csvx", "application/json"),
        ("*/*", "application/json"),
        (";;,q=,", "application/json"),
    ],
)
def test_the_form_of_a_glossary_is_what_the_client_likes_best(
    stored: TestClient, accept: str, media_type: str
) -> None:
    create(stored)
    answer = stored.get("/glossaries/pets", headers={"Accept": accept})
    assert answer.headers["Content-Type"].partition(";")[0] == media_type


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": ""}, 400),
        ({"name": "a" * 1025}, 422),
        ({"source": "xx"}, 400),
        ({"source": "zh"}, 422),
        ({"source": "auto"}, 400),
        *(({"name": name}, 422) for name in (".", "..", "[", '[{"a"', "{a}")),
        ({"entries": "dog"}, 422),
        ({"entries": [{"source": "a", "target": ""}]}, 422),
    ],
)
def test_a_wrong_glossary_is_not_stored(
    stored: TestClient, fields: dict[str, Any], status: int
) -> None:
    assert create(stored, **fields).status_code == status
    assert stored.get("/glossaries").json() == {"glossaries": []}


def test_a_broken_file_is_not_stored(stored: TestClient) -> None:
    for content, media_type, status in (
        (b"dog", "text/csv", 422),
        (b"dog\tHund\tnoun", "text/tab-separated-values", 422),
        (b"dog,Hund,EN,DE,noun", "text/csv", 422),
        (b"\xff,a", "text/csv", 400),
        (b"a\tb", "application/xml", 415),
        (b"<tbx/>", TBX, 400),
        (b"<tmx/>", TBX, 400),
        (b"dog,Hund", XLSX, 400),
    ):
        answer = stored.post(
            "/glossaries?name=a&source=en&target=de",
            content=content,
            headers={"Content-Type": media_type},
        )
        assert answer.status_code == status


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_each_format_is_stored(stored: TestClient, name: str) -> None:
    media_type, write = WRITERS[name]
    answer = stored.put(
        "/glossaries/pets?source=en&target=de-AT",
        content=write([("dog", "Hund"), ("cat", "Katze")]),
        headers={"Content-Type": media_type},
    )
    assert answer.status_code == 201
    assert stored.get("/glossaries/pets", headers={"Accept": CSV}).text.split() == [
        "dog,Hund",
        "cat,Katze",
    ]


def test_deepl_stores_and_uses_glossaries(stored: TestClient) -> None:
    given = {"name": "n", "source_lang": "EN", "target_lang": "DE", "entries": "dog\tHund"}
    made = stored.post("/v2/glossaries", json={**given, "entries_format": "tsv"}).json()
    assert (made["ready"], made["entry_count"]) == (True, 1)
    key = made["glossary_id"]
    assert stored.get(f"/v2/glossaries/{key}/entries").text == "dog\tHund\n"
    fields = {"text": ["A dog."], "target_lang": "DE", "glossary_id": key}
    answer = stored.post("/v2/translate", json={**fields, "source_lang": "EN"}).json()
    assert answer["translations"][0]["text"] == "A Hund."
    assert "source_lang" in stored.post("/v2/translate", json=fields).json()["message"]
    other = stored.post("/v2/translate", json={**fields, "source_lang": "EN", "target_lang": "ZH"})
    words = "No dictionary found for language pair: glossary n is for en to de, not for en to zh"
    assert other.json()["message"] == words
    assert stored.get("/v2/glossaries/x").status_code == 400
    assert stored.delete(f"/v2/glossaries/{key}").status_code == 204
    pairs = stored.get("/v2/glossary-language-pairs").json()["supported_languages"]
    assert {"source_lang": "en", "target_lang": "de"} in pairs


def test_deepl_stores_glossaries_of_several_pairs(stored: TestClient) -> None:
    there = {"source_lang": "EN", "target_lang": "DE", "entries": "dog\tHund"}
    other = {"source_lang": "EN", "target_lang": "ZH", "entries": "dog\t狗"}
    made = stored.post("/v3/glossaries", json={"name": "a/b ö", "dictionaries": [there, other]})
    assert made.status_code == 201, made.text
    path = f"/v3/glossaries/{made.json()['glossary_id']}"
    counts = [{**languages("de"), "entry_count": 1}, {**languages("zh"), "entry_count": 1}]
    assert made.json()["dictionaries"] == counts
    assert stored.get(path).json() == made.json() == stored.get("/v3/glossaries").json()[
        "glossaries"
    ][0]  # fmt: skip
    assert [one["name"] for one in stored.get("/glossaries").json()["glossaries"]] == ["a/b ö"]
    key = {"glossary_id": made.json()["glossary_id"], "source_lang": "EN", "text": "A dog."}
    for target, text in (("DE", "A Hund."), ("ZH", "A 狗.")):
        answer = stored.post("/v2/translate", json={**key, "target_lang": target}).json()
        assert answer["translations"][0]["text"] == text
    merged = {"name": "new", "dictionaries": [{**there, "entries": "cat\tKatze"}]}
    assert stored.patch(path, json=merged).json()["dictionaries"][0]["entry_count"] == 2
    form = {f"dictionaries[0].{name}": value for name, value in there.items()}
    assert stored.patch(path, data=form).json()["name"] == "new"
    query = {"params": {"source_lang": "EN", "target_lang": "DE"}}
    (found,) = stored.get(f"{path}/entries", **query).json()["dictionaries"]  # type: ignore[arg-type]
    assert found["entries"] == "dog\tHund\ncat\tKatze"
    assert stored.put(f"{path}/dictionaries", json=there).json() == counts[0]
    assert stored.delete(f"{path}/dictionaries", **query).status_code == 204  # type: ignore[arg-type]
    assert stored.get(path).json()["dictionaries"] == counts[1:]
    assert stored.get(f"{path}/entries", **query).status_code == 404  # type: ignore[arg-type]
    query["params"]["target_lang"] = "ZH"  # the only one
    assert stored.delete(f"{path}/dictionaries", **query).status_code == 400  # type: ignore[arg-type]
    assert stored.delete(path).status_code == 204
    assert stored.get("/v3/glossaries").json() == {"glossaries": []}


def languages(target: str) -> dict[str, str]:
    return {"source_lang": "en", "target_lang": target}
