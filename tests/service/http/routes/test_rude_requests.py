"""What each surface answers to requests that are legal HTTP and rude, or nearly legal."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.http.route_table import PATHS
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

GOOGLE = "/language/translate/v2"
FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
DEEPL = {"text": ["Hi."], "source_lang": "EN", "target_lang": "DE"}
IMMERSIVE = {"text_list": ["Hi."], "source_lang": "en", "target_lang": "de"}
WORK: dict[str, dict[str, Any]] = {
    "/translate": FIELDS,
    "/v2/translate": DEEPL,
    "/v1/translate": {**DEEPL, "text": "Hi."},
    GOOGLE: FIELDS,
    "/immersive": IMMERSIVE,
}
"""By path: what is translated to HI."""
JSON = {"Content-Type": "application/json"}
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
OURS = ("/glossaries", "/docs", "/openapi.json", "/metrics", "/", "/translate/stream")
"""Not of other programs, or of FastAPI."""


def error_of(answer: Any) -> str:
    """The message in the format of any API."""
    body = answer.json()
    error = body.get("message") or body["error"]
    return str(error["message"] if isinstance(error, dict) else error)


@pytest.mark.parametrize("path", sorted(PATHS.named - set(OURS)))
def test_a_method_that_is_not_allowed_gets_those_that_are(client: TestClient, path: str) -> None:
    answers = {method: client.request(method, path) for method in METHODS}
    taken = {method for method, answer in answers.items() if answer.status_code != 405}
    assert ("GET" in taken) == ("HEAD" in taken)
    assert answers["HEAD"].content == b""
    for method in set(METHODS) - taken:
        allowed = answers[method].headers["Allow"].split(", ")
        assert allowed == sorted(taken), (method, path)
    if "GET" in taken:
        length = answers["GET"].headers["Content-Length"]
        assert answers["HEAD"].headers["Content-Length"] == length


@pytest.mark.parametrize("path", WORK)
def test_a_packed_body_is_refused_in_words(client: TestClient, path: str) -> None:
    body = gzip.compress(json.dumps(WORK[path]).encode())
    answer = client.post(path, content=body, headers={**JSON, "Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert error_of(answer) == "Content-Encoding must be identity, got 'gzip'"
    same = client.post(path, json=WORK[path], headers={"Content-Encoding": "identity"})
    assert "HI." in same.text


def multipart(**parts: Any) -> dict[str, Any]:
    return {name: part if isinstance(part, tuple) else (None, part) for name, part in parts.items()}


UPLOADS = {
    "/translate_file": {"source": "en", "target": "de"},
    "/v2/document": {"source_lang": "EN", "target_lang": "DE"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(create_app(Settings(max_characters=1000), [fake_model(FakeRunner())])) as server:
        yield server


def request_of(method: str, path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("path", WORK)
def test_a_connection_stays_open_after_errors(server: Served, path: str) -> None:
    """If the body comes with the head; else a refusal by the head closes the connection."""
    good = json.dumps(WORK[path]).encode()
    unknown = good.replace(b'"de"', b'"zz"').replace(b'"DE"', b'"ZZ"')
    requests = [
        (400, request_of("POST", path, b"{")),
        (415, request_of("POST", path, good, "text/csv")),
        (413, request_of("POST", path, good.replace(b"Hi.", b"x" * 1001))),
        (400, request_of("POST", path, unknown)),
        (405, request_of("DELETE", path, b"")),
        (404, request_of("POST", path + "/nowhere", good)),
        (200, request_of("POST", "/" + path, good)),
    ]
    with server.connect() as connection:
        for status, request in requests:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == status
            assert (b"HI." in answer.read()) == (status == 200)
            answer.close()
