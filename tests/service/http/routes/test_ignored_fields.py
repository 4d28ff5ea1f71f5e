"""Unknown fields are ignored and named in a header, or refused where the client asks for it."""

from __future__ import annotations

import string
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from tests.service.http.clients import EVENTS, FIELDS, by_websocket, multipart

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
def test_unknown_fields_are_ignored_and_named_or_refused_to_who_prefers_strict_handling(
    client: TestClient, kind: str
) -> None:
    answer = post(client, kind, {**FIELDS, "beamsize": "4", "mood": "happy"})
    assert answer.status_code == 200, answer.text
    assert "HI." in answer.text
    assert answer.headers[HEADER] == "beamsize, mood"
    assert HEADER not in post(client, kind, FIELDS).headers
    answer = post(client, kind, {**FIELDS, "beamsize": "4"}, **STRICT)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
    assert answer.json()["error"].startswith("unknown field 'beamsize'; known fields: q, source, ")
    assert post(client, kind, FIELDS, **STRICT).status_code == 200


@pytest.mark.parametrize(
    ("prefer", "is_strict"),
    [
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


def test_the_querys_fields_beside_a_body_count_unless_it_is_json_or_has_them(
    client: TestClient,
) -> None:
    """A form's and the query's are joined, as in Flask, which LibreTranslate asks."""
    for body in ({"json": FIELDS}, {"data": FIELDS}, {"files": multipart(**FIELDS)}):
        answer = client.post("/translate?target=en&x=1", **body)  # type: ignore[arg-type]
        assert answer.json() == {"translatedText": "HI."}
        assert {*answer.headers[HEADER].split(", ")} == {"target", "x"}
    rest = {name: value for name, value in FIELDS.items() if name != "target"}
    for body in ({"data": rest}, {"files": multipart(**rest)}):
        answer = client.post("/translate?target=de", **body)  # type: ignore[arg-type]
        assert (answer.json(), HEADER in answer.headers) == ({"translatedText": "HI."}, False)
    answer = client.post("/translate?source=en&target=de&q=b", content="a", headers=PLAIN)
    assert (answer.text, answer.headers[HEADER]) == ("A", "q")


@pytest.mark.parametrize("path", ["/translate", "/language/translate/v2"])
def test_a_file_where_none_is_read_is_named(client: TestClient, path: str) -> None:
    parts = multipart(**FIELDS, letter=("a.txt", b"Hi."))
    answer = client.post(path, files=parts)
    assert "HI." in answer.text
    assert answer.headers[HEADER] == "letter"
    strict = client.post(path, files=parts, headers=STRICT)
    assert "unknown field 'letter'" in strict.text
    parts = multipart(**{**FIELDS, "q": ("q.txt", b"Hi.")})
    answer = client.post(path, files=parts)
    assert (answer.status_code, answer.headers[HEADER]) == (400, "q")
    assert "q must be a text field, got a file" in answer.text
    assert "q must be a text field" in client.post(path, files=parts, headers=STRICT).text


def test_a_known_field_that_does_not_count_is_not_called_unknown(client: TestClient) -> None:
    for body in ({"json": FIELDS}, {"data": {**FIELDS, "alternatives": 1}}):
        answer = client.post("/translate?alternatives=3", headers=STRICT, **body)  # type: ignore[arg-type]
        assert answer.status_code == 422
        assert "unknown" not in answer.text
        assert "query" in answer.json()["error"]


def test_null_is_as_if_the_field_were_absent(client: TestClient) -> None:
    optional = dict.fromkeys(
        ("format", "alternatives", "api_key", "beam_size", "seed", "details", "model")
    )
    answer = client.post("/translate", json={**FIELDS, **optional})
    assert answer.json() == {"translatedText": "HI."}
    assert HEADER not in answer.headers


@KINDS
@pytest.mark.parametrize(
    "name",
    ["a\r\nSet-Cookie: b=c", "名字", "a, b", "\x00", "%0d%0a", "x" * 10_000, "💣" * 300, '"'],
)
def test_a_name_cannot_break_out_of_the_header(client: TestClient, kind: str, name: str) -> None:
    answer = post(client, kind, {**FIELDS, "first": "1", name: "x", "last": "2"})
    assert answer.status_code == 200
    assert set(answer.headers[HEADER]) <= SAFE
    assert len(answer.headers[HEADER]) <= 256
    assert answer.headers[HEADER].startswith("first, ")
    assert "Set-Cookie" not in answer.headers


def test_a_stream_names_them_and_a_websocket_ignores_them_as_well(client: TestClient) -> None:
    answer = post(client, "json", {**FIELDS, "x": 1}, **EVENTS)
    assert answer.headers[HEADER] == "x"
    assert "event: final" in answer.text
    assert by_websocket(client, mood="happy", seed=None)["translatedText"] == "HI."
