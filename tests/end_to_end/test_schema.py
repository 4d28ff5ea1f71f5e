"""What /openapi.json shows is answered so, and what every HTTP client may send is answered."""

from __future__ import annotations

import httpx
import pytest

from tests.service.served import Served


def test_the_schemas_example_is_answered_with_its_example(server: Served) -> None:
    schema = httpx.get(f"{server.url}/openapi.json").json()
    operation = schema["paths"]["/translate"]["post"]
    asked = operation["requestBody"]["content"]["application/json"]["example"]
    answered = operation["responses"]["200"]["content"]["application/json"]["example"]
    for sent in ({"json": asked}, {"data": asked}, {"params": asked}):
        answer = httpx.post(f"{server.url}/translate", timeout=60, **sent)  # type: ignore[arg-type]
        assert answer.json() == answered


@pytest.mark.parametrize(
    "path", ["/health", "/health/live", "/health/ready", "/languages", "/metrics"]
)
def test_head_is_answered_like_get_without_a_body(server: Served, path: str) -> None:
    asked, probed = httpx.get(server.url + path), httpx.head(server.url + path)
    assert probed.status_code == asked.status_code == 200
    assert probed.content == b""
    assert probed.headers["Content-Type"] == asked.headers["Content-Type"]
    refused = httpx.put(server.url + path)
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")


def test_a_path_with_a_slash_too_many_redirects_nowhere(server: Served) -> None:
    answer = httpx.post(f"{server.url}/translate/", headers={"Host": "evil.example"}, json={})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "Location" not in answer.headers


def test_a_host_header_that_is_no_host_is_answered(server: Served) -> None:
    for host in ("[", "a b", "x" * 5000, "]:99999", ""):
        for path in ("/nowhere", "/translate", "/health/live"):
            answer = httpx.get(server.url + path, headers={"Host": host})
            assert answer.status_code in (200, 400, 404, 405)
