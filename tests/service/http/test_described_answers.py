"""Answers have the members that the OpenAPI document describes, and no others: they are made from
records in which the server keeps more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from tests.service.fakes import FakeRunner
from tests.service.http.clients import FIELDS, STREAM, client_of, last_message

TERMS = [{"source": "a", "target": "b"}]
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("/translate", FIELDS),
    ("/translate", {**FIELDS, "source": "auto", "details": True}),
    ("/translate", {**FIELDS, "q": ["Hi.", "2013 we met."], "alternatives": 2, "details": True}),
    ("/translate", {**FIELDS, "q": "2013年。", "source": "zh", "details": True}),
    ("/translate", {**FIELDS, "details": "attention"}),
    ("/translate", {**FIELDS, "details": "search"}),
    ("/translate/next", {**FIELDS, "prefix": "H"}),
    ("/detect", {"q": "Bonjour tout le monde, comment allez-vous aujourd'hui ?"}),
    ("/glossaries", {"name": "mine", "source": "en", "target": "de", "entries": TERMS}),
]
MEMBERS = {
    "TranslateResponse": "translatedText detectedLanguage alternatives details",
    "DetectedLanguage": "language confidence",
    "TextDetail": "model suggestion pivot sentences",
    "SuggestionDetail": "text is_exact",
    "Pivot": "language text model checks",
    "SentenceDetail": "source target tokens log_probs score finish_reason times_ms alignment "
    "confidence words checks attention search",
    "Milliseconds": "queue encode decode",
    "Check": "kind source target message",
    "Attention": "source_tokens target_tokens encoder decoder memory",
    "SearchDetail": "beam_size score path agrees steps",
    "SearchStep": "candidates likeliest",
    "SearchCandidate": "parent token log_prob total fate place",
    "NextWords": "words end sentence",
    "NextWord": "text probability translation",
}


def closed(schema: Any) -> Any:
    """The schema, whose objects have no members beside those that it names."""
    if isinstance(schema, list):
        return list(map(closed, schema))
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**{name: closed(value) for name, value in schema.items()}, **more}


def test_operations_have_names_that_clients_are_generated_with(tmp_path: Path) -> None:
    with client_of(database=tmp_path / "server.db", suggestions=True) as client:
        document = client.get("/openapi.json").json()
    operations = [one for path in document["paths"].values() for one in path.items()]
    assert {method for method, _ in operations} <= {"get", "post", "put", "delete"}
    names = [operation["operationId"] for _, operation in operations]
    assert len(set(names)) == len(names)
    assert {"translate", "translate_next", "detect", "languages", "list_glossaries"} <= {*names}
    assert all(re.fullmatch("[a-z_]{4,20}", name) for name in names), names
    fields = document["paths"]["/translate"]["post"]["requestBody"]["content"]["application/json"]
    for name in ("source", "target", "model"):  # a client is used with other servers, too
        assert "enum" not in json.dumps(fields["schema"]["properties"][name])


@pytest.mark.parametrize("max_beam_size", [1, 3, 16])
def test_a_refused_number_is_told_the_greatest_that_this_server_takes(max_beam_size: int) -> None:
    with client_of(max_beam_size=max_beam_size) as client:
        for path, field, most in greatest_numbers(client):
            for wrong in (-1, most + 1, 10**30):
                refused = ask(client, path, **{field: wrong})["error"]
                told = re.search(rf"{field} must be .*(?:to|at most) ([\d.e+]+), got", refused)
                assert told, (path, refused)
                answer = ask(client, path, **{field: json.loads(told[1])})
                assert "error" not in answer, (path, refused, answer)


def greatest_numbers(client: TestClient) -> Iterator[tuple[str, str, float]]:
    """Path, name and described maximum of each field that is a number."""
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        body = methods.get("post", {}).get("requestBody", {}).get("content", {})
        schema = body.get("application/json", {}).get("schema", {})
        for name, field in schema.get("properties", {}).items():
            for one in field.get("anyOf", [field]):
                if "maximum" in one:
                    yield path, name, one["maximum"]
                    if path == "/translate":
                        yield STREAM, name, one["maximum"]


def ask(client: TestClient, path: str, **fields: Any) -> dict[str, Any]:
    """The answer or the error of a request, which goes over a websocket if its path has one."""
    asked, answer = {**FIELDS, **fields}, dict[str, Any]()
    if path != STREAM:
        answer |= client.post(path, json=asked).json()
        return answer
    with client.websocket_connect(path) as socket:
        socket.send_json({"id": 1, **asked})
        return last_message(socket)


@pytest.mark.parametrize("k", [8, 8.0])
def test_a_whole_number_may_be_spelled_with_a_fraction_of_zero(k: object) -> None:
    """As JSON Schema says."""
    with client_of() as client:
        for field, path in (("k", "/translate/next"), ("beam_size", "/translate")):
            assert client.post(path, json={**FIELDS, field: k}).status_code == 200
            refused = client.post(path, json={**FIELDS, field: 8.5})
            assert refused.json()["code"] == "invalid_field"


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_an_answer_has_what_is_described_and_nothing_else(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    runner = FakeRunner()
    runner.garbled = {"2013": "2014"}
    with client_of(runner, database=tmp_path / "server.db") as client:
        answer = client.post(path, json=body)
        document = client.get("/openapi.json").json()
    described = document["paths"][path]["post"]["responses"][str(answer.status_code)]
    schema = described["content"]["application/json"]["schema"]
    components = closed(document["components"])
    Draft202012Validator({**schema, "components": components}).validate(answer.json())


def test_a_field_of_a_record_is_told_only_if_it_is_to_be() -> None:
    """The description follows the records, so a new field of one would be sent."""
    with client_of() as client:
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert {name: " ".join(schemas[name]["properties"]) for name in MEMBERS} == MEMBERS
