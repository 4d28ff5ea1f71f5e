"""Whatever is long in a request is answered, or refused by a short error, on every surface."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from service.http.routes.websocket import PATH as STREAM
from service.http.schemas import TranslateRequest
from tests.service.served import Served

LONG, HEAD_BYTES, BODY_BYTES = 900_000, 32 * 1024, 2**20
SHORT = 2500
"""More bytes than any refusal has."""
FIELDS = {"q": "a", "source": "en", "target": "de"}
VALUES: list[Any] = ["x" * LONG, "[" + "[]," * (LONG // 3 - 2) + "[]]", ["x" * LONG], ["x"] * 9000]
PATHS = ("/translate", "/v2/translate", "/language/translate/v2", STREAM)
HEADERS = ("authorization", "content-type", "origin", "x-request-id", "x-goog-api-key", "x-any")


def is_refused(answer: httpx.Response) -> bool:
    """Whether it is a short error in JSON; a right answer else."""
    assert 200 <= answer.status_code < 500, answer.text[:SHORT]
    if answer.status_code >= 400:
        assert len(answer.content) < SHORT
        assert answer.json()
    return answer.status_code >= 400


@pytest.mark.parametrize("field", ["ignored", *TranslateRequest.model_fields])
def test_a_long_value_of_any_field_is_answered_or_refused(server: Served, field: str) -> None:
    for value in VALUES:
        answer = httpx.post(f"{server.url}/translate", json={**FIELDS, field: value}, timeout=60)
        assert is_refused(answer) or field == "ignored"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", HEADERS)
def test_a_long_header_is_answered_or_refused(server: Served, name: str, path: str) -> None:
    for size in (1000, HEAD_BYTES - 300, 2 * HEAD_BYTES):
        answer = httpx.post(server.url + path, headers={name: "x" * size}, content=b"{}")
        assert is_refused(answer) or size < HEAD_BYTES


@pytest.mark.parametrize("size", [BODY_BYTES, BODY_BYTES + 1])
def test_a_body_may_have_as_many_bytes_as_the_server_says(server: Served, size: int) -> None:
    body = json.dumps({**FIELDS, "ignored": ""}).removesuffix('"}')
    answer = httpx.post(
        f"{server.url}/translate",
        content=body + "x" * (size - len(body) - 2) + '"}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == (413 if size > BODY_BYTES else 200)


def test_a_long_value_in_a_message_is_answered_or_refused(server: Served) -> None:
    with connect(f"ws://127.0.0.1:{server.port}{STREAM}", max_size=None, proxy=None) as client:
        for field in ("id", "cancel", "ignored", "q", "glossary"):
            for value in VALUES:
                client.send(json.dumps({"id": "a", **FIELDS, field: value}))
                answer: dict[str, Any] = {"type": "token"}
                while answer["type"] == "token":
                    answer = json.loads(client.recv(timeout=60))
                assert answer.get("code") not in ("internal_error", "overloaded")
                assert len(answer.get("error", "")) < SHORT
