"""Glossaries over HTTP: in requests and stored; and what rude clients get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

TERMS = [{"source": "dog", "target": "Hund"}, {"source": "cat", "target": "Katze"}]
ASKED = {"q": "A dog.", "source": "en", "target": "de"}


@pytest.fixture
def stored(runner: FakeRunner, tmp_path: Path) -> Iterator[TestClient]:
    """A server with a database."""
    settings = Settings(max_characters=1000, database=tmp_path / "d.sqlite")
    with TestClient(create_app(settings, [fake_model(runner)])) as client:
        yield client


def ask(client: TestClient, **fields: Any) -> Any:
    return client.post("/translate", json={**ASKED, **fields})


def create(client: TestClient, **fields: Any) -> Any:
    given = {"name": "pets", "source": "en", "target": "de", "entries": TERMS, **fields}
    return client.post("/glossaries", json=given)


def test_terms_of_a_request_reach_the_sentences_that_have_them(client: TestClient) -> None:
    answer = ask(client, q=["Two dogs, a dog.", "None."], glossary=TERMS)
    assert answer.json()["translatedText"] == ["TWO DOGS, A DOG.[Hund][Hund]", "NONE."]
    form = client.post("/translate", data={**ASKED, "glossary": json.dumps(TERMS)})
    assert form.json()["translatedText"] == "A DOG.[Hund]"
    given = {"source": "en", "target": "de", "glossary": json.dumps(TERMS)}
    file = client.post("/translate_file", data=given, files={"file": ("a.txt", b"A dog.")}).json()
    assert client.get(file["translatedFileUrl"]).content == b"A DOG.[Hund]"


@pytest.mark.parametrize(
    ("glossary", "message"),
    [
        ([{"source": "", "target": "a"}], "1 to 200 characters"),
        ([{"source": "a"}], "glossary must be"),
        ([TERMS[0]] * 1001, "at most 1000 terms"),
        ("", "glossary must be"),
        ({"source": "a", "target": "b"}, "glossary must be"),
    ],
)
def test_a_wrong_glossary_is_refused(client: TestClient, glossary: object, message: str) -> None:
    answer = ask(client, glossary=glossary)
    assert answer.status_code == 422, answer.text
    assert message in answer.json()["error"]


def test_a_glossary_does_not_go_with_sampling_or_a_pivot(client: TestClient) -> None:
    assert "does not go with temperature" in ask(client, glossary=TERMS, top_k=3).json()["error"]
    answer = ask(client, q="一只狗。", source="zh", glossary=TERMS)
    assert answer.status_code == 422
    assert "from zh to de, because that goes through en" in answer.json()["error"]


def test_without_a_database_the_setting_is_named(client: TestClient) -> None:
    for answer in (ask(client, glossary="pets"), client.get("/glossaries"), create(client)):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_glossary")
        assert "setting database" in answer.json()["error"]


def test_a_stored_glossary_is_used_by_name_and_id(stored: TestClient) -> None:
    made = create(stored)
    assert made.status_code == 201
    assert made.json()["entry_count"] == 2
    for key in ("pets", made.json()["id"]):
        assert ask(stored, glossary=key).json()["translatedText"] == "A DOG.[Hund]"
    missing = ask(stored, glossary="none")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_glossary")
    other = ask(stored, glossary="pets", target="zh")
    assert other.status_code == 422
    assert "is for en to de, not for en to zh" in other.json()["error"]


def test_glossaries_are_created_listed_replaced_and_removed(stored: TestClient) -> None:
    assert create(stored).status_code == 201
    assert create(stored).status_code == 409
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
    assert ask(stored, glossary="pets").json()["translatedText"] == "A DOG.[Köter]"
    new = stored.put("/glossaries/new", json={"source": "en", "target": "de", "entries": TERMS})
    assert new.status_code == 201
    assert stored.delete("/glossaries/pets").status_code == 204
    assert stored.delete("/glossaries/pets").status_code == 404


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": ""}, 400),
        ({"name": "a" * 1025}, 422),
        ({"source": "zh"}, 422),
    ],
)
def test_a_wrong_glossary_is_not_stored(
    stored: TestClient, fields: dict[str, Any], status: int
) -> None:
    assert create(stored, **fields).status_code == status
    assert stored.get("/glossaries").json() == {"glossaries": []}


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
    for target, text in (("DE", "A DOG.[Hund]"), ("ZH", "A DOG.[狗]")):
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
    assert stored.delete(path).status_code == 204
    assert stored.get("/v3/glossaries").json() == {"glossaries": []}


def languages(target: str) -> dict[str, str]:
    return {"source_lang": "en", "target_lang": target}
