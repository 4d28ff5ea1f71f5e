"""Unknown fields are ignored and named in a header, or refused where the client asks for it."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
STRICT = {"Prefer": "handling=strict"}
HEADER = "X-Ignored-Fields"
PLAIN = {"Content-Type": "text/plain"}
SAFE = {*string.ascii_letters, *string.digits, *"%-._~, "}


def post(client: TestClient, kind: str, fields: dict[str, Any], **headers: str) -> Response:
    """The fields as JSON, as a form, or in the query of a plain text."""
    if kind == "json":
        return client.post("/translate", json=fields, headers=headers)
    if kind == "form":
        return client.post("/translate", data=fields, headers=headers)
    query = {name: value for name, value in fields.items() if name != "q"}
    return client.post(
        "/translate", params=query, content=fields["q"], headers={**PLAIN, **headers}
    )


KINDS = pytest.mark.parametrize("kind", ["json", "form", "plain"])


@KINDS
def test_unknown_fields_are_ignored_and_named(client: TestClient, kind: str) -> None:
    answer = post(client, kind, {**FIELDS, "beamsize": "4", "mood": "happy"})
    assert answer.status_code == 200, answer.text
    assert "HI." in answer.text
    assert answer.headers[HEADER] == "beamsize, mood"
    assert HEADER not in post(client, kind, FIELDS).headers


@KINDS
def test_a_client_that_prefers_strict_handling_gets_them_refused(
    client: TestClient, kind: str
) -> None:
    answer = post(client, kind, {**FIELDS, "beamsize": "4"}, **STRICT)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
    assert answer.json()["error"].startswith("unknown field 'beamsize'; known fields: q, source, ")
    assert post(client, kind, FIELDS, **STRICT).status_code == 200


@pytest.mark.parametrize(
    ("prefer", "is_strict"),
    [
        ("handling=strict", True),
        ('respond-async, Handling = "strict"; why', True),
        ("handling=lenient", False),
        ("handling=strictly", False),
        ("wait=10", False),
        ("", False),
    ],
)
def test_the_preference_is_read_as_its_rfc_spells_it(
    client: TestClient, prefer: str, is_strict: bool
) -> None:
    answer = post(client, "json", {**FIELDS, "x": 1}, Prefer=prefer)
    assert answer.status_code == (422 if is_strict else 200)


def test_a_misspelt_required_field_is_named_in_the_error_too(client: TestClient) -> None:
    answer = post(client, "json", {"q": "Hi.", "source": "en", "traget": "de"})
    assert answer.status_code == 400
    assert answer.headers[HEADER] == "traget"


def test_the_querys_fields_beside_json_or_a_form_are_named(client: TestClient) -> None:
    for body in ({"json": FIELDS}, {"data": FIELDS}):
        answer = client.post("/translate?target=en&x=1", **body)  # type: ignore[arg-type]
        assert answer.json() == {"translatedText": "HI."}
        assert answer.headers[HEADER] == "target, x"


def test_a_text_in_the_query_beside_a_plain_text_is_named(client: TestClient) -> None:
    answer = client.post("/translate?source=en&target=de&q=b", content="a", headers=PLAIN)
    assert (answer.text, answer.headers[HEADER]) == ("A", "q")


def test_null_is_as_if_the_field_were_absent(client: TestClient) -> None:
    optional = dict.fromkeys(
        ("format", "alternatives", "api_key", "beam_size", "seed", "details", "model")
    )
    answer = client.post("/translate", json={**FIELDS, **optional})
    assert answer.json() == {"translatedText": "HI."}
    assert HEADER not in answer.headers
    for name in FIELDS:
        error = client.post("/translate", json={**FIELDS, name: None}).json()["error"]
        assert error == f"Invalid request: missing {name} parameter"


@KINDS
@pytest.mark.parametrize(
    "name",
    [
        "a\r\nSet-Cookie: b=c",
        "名字",
        "a, b",
        "\x00",
        "%0d%0a",
        "x" * 10_000,
        "💣" * 300,
        '"',
        " ",
    ],
)
def test_a_name_cannot_break_out_of_the_header(client: TestClient, kind: str, name: str) -> None:
    answer = post(client, kind, {**FIELDS, "first": "1", name: "x", "last": "2"})
    assert answer.status_code == 200
    assert set(answer.headers[HEADER]) <= SAFE
    assert len(answer.headers[HEADER]) <= 256
    assert answer.headers[HEADER].startswith("first, ")
    assert "Set-Cookie" not in answer.headers


def test_an_event_stream_names_them_too(client: TestClient) -> None:
    answer = post(client, "json", {**FIELDS, "x": 1}, Accept="text/event-stream")
    assert answer.headers[HEADER] == "x"
    assert "event: final" in answer.text


def test_a_websocket_ignores_them_as_well(client: TestClient) -> None:
    with client.websocket_connect("/translate/stream") as socket:
        socket.send_text(json.dumps({"id": 1, **FIELDS, "mood": "happy", "seed": None}))
        while (message := socket.receive_json())["type"] == "token":
            pass
    assert message["translatedText"] == "HI."
