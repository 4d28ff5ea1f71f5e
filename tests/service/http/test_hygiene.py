"""What every answer says to browsers, what can be switched off, and who may see the metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute

from service.app import create_app
from service.settings import Settings, read_settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import served

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
HEADERS = (
    "X-Content-Type-Options",
    "Referrer-Policy",
    "X-Frame-Options",
    "Content-Security-Policy",
)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("GET", path)
            for path in ("/", "/languages", "/health", "/metrics", "/nowhere", "/docs")
        ),
        *(("POST", path) for path in ("/translate", "/v2/translate", "/detect", "/health")),
        *(("GET", path) for path in ("/page/limits.json", "/openapi.json", "/download_file/x")),
    ],
)
def test_every_answer_tells_browsers_what_they_may_not_do(
    client: TestClient, method: str, path: str
) -> None:
    headers = client.request(method, path).headers
    assert all(len(headers.get_list(name)) == 1 for name in HEADERS)


def test_an_answer_of_the_protocol_itself_tells_them_too() -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as client:
        client.sendall(b"nonsense\r\n\r\n")
        answer = client.recv(65536).decode().lower()
    assert all(f"\n{name.lower()}: " in answer for name in HEADERS)


def test_the_documentation_can_be_switched_off() -> None:
    with TestClient(create_app(Settings(api_docs=False), [fake_model(FakeRunner())])) as client:
        for path in ("/docs", "/docs/start.js", "/openapi.json", "/spec"):
            assert client.get(path).status_code == 404
        refused = client.put("/languages")
        assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/translate", "POST"),
        ("/glossaries", "GET, HEAD, POST"),
        ("/glossaries/mine", "DELETE, GET, HEAD, PUT"),
        ("/v2/glossaries", "GET, HEAD, POST"),
        ("/v2/glossaries/mine", "DELETE, GET, HEAD"),
        ("/v2/glossaries/mine/entries", "GET, HEAD"),
        ("/language/translate/v2", "GET, HEAD, POST"),
        ("/language/translate/v2/languages", "GET, HEAD, POST"),
        ("/download_file/mine.txt", "GET, HEAD"),
    ],
)
def test_a_refused_method_is_told_all_that_the_path_has(path: str, methods: str) -> None:
    with TestClient(create_app(Settings(), [fake_model(FakeRunner())])) as client:
        refused = client.patch(path)
    assert (refused.status_code, refused.headers["Allow"]) == (405, methods)


def paths_of(routes: Iterable[BaseRoute], method: str) -> set[str]:
    """The paths that have the method, with "mine" for each of their parameters."""
    return {
        re.sub(r"{\w+}", "mine", route.path)
        for route in iter_route_contexts(routes)
        if route.path is not None and method in (route.methods or ())
    }


def test_head_is_answered_wherever_get_is(tmp_path: Path) -> None:
    app = create_app(Settings(database=tmp_path / "server.db"), [fake_model(FakeRunner())])
    paths = paths_of(app.routes, "GET")
    assert {"/glossaries", "/glossaries/mine", "/v2/usage", "/docs", "/"} <= paths
    with TestClient(app) as client:
        terms = [{"source": "a", "target": "b"}]
        glossary = {"source": "en", "target": "de", "entries": terms}
        assert client.put("/glossaries/mine", json=glossary).status_code == 201
        for path in sorted(paths):
            asked, probed = client.get(path), client.head(path)
            assert (path, probed.status_code) == (path, asked.status_code)
            for name in ("Content-Type", "ETag", "Allow"):
                assert (path, probed.headers.get(name)) == (path, asked.headers.get(name))


def test_a_page_may_ask_with_a_key_where_its_origin_is_allowed() -> None:
    origin = "https://app.example"
    settings = Settings(cors_origins=(origin,), requests_per_minute=1)
    with TestClient(create_app(settings, [fake_model(FakeRunner())])) as client:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        for _ in range(3):  # no key and no limit holds for the question
            answer = client.options("/translate", headers=asked)
            assert answer.status_code == 200
            assert "authorization" in answer.headers["Access-Control-Allow-Headers"]
        other = client.options("/translate", headers={**asked, "Origin": "https://evil.example"})
        assert (other.status_code, "Access-Control-Allow-Origin" in other.headers) == (400, False)
        answers = [
            client.post("/translate", json=FIELDS, headers={"Origin": origin}) for _ in range(2)
        ]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert answers[1].headers["Access-Control-Allow-Origin"] == origin
        assert "Retry-After" in answers[1].headers["Access-Control-Expose-Headers"]


def test_metrics_can_have_a_port_of_their_own() -> None:
    """The app tells the ports apart by the address that a request was sent to."""
    app = create_app(Settings(metrics_port=9), [fake_model(FakeRunner())])
    with TestClient(app) as client:
        inner = TestClient(app, base_url="http://testserver:9")
        assert client.get("/metrics").status_code == 404
        assert client.post("/translate", json=FIELDS).status_code == 200
        assert client.get("/health").status_code == 200
        assert inner.get("/metrics").status_code == 200
        assert inner.get("/health/ready").status_code == 200
        for path in ("/", "/languages", "/docs", "/metrics/"):
            assert inner.get(path).status_code == 404
        assert inner.post("/translate", json=FIELDS).json()["code"] == "not_found"


@pytest.mark.parametrize("given", [{"api_keys": "optional"}, {"suggestions": "true"}])
def test_what_is_stored_needs_a_database(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="needs the setting database"):
        read_settings(Settings, given)


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "10.0.0.1/8", "1.2.3.4.5"])
def test_a_trusted_proxy_is_an_address_or_a_network(proxy: str) -> None:
    with pytest.raises(ValueError, match="setting trusted_proxies: .* an address or a network"):
        read_settings(Settings, {"trusted_proxies": proxy})
