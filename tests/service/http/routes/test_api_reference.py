"""The reference at /docs: its files come from here, under a strict policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

SOURCES = Path(__file__).parents[4] / "service" / "api_reference"
LOADED = ["swagger-ui-bundle.js", "swagger-ui.css", "start.js", "style.css", "icon.svg"]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(Settings(), [fake_model(FakeRunner())])) as client:
        yield client


def policy_of(client: TestClient, path: str) -> dict[str, str]:
    written = client.get(path).headers["Content-Security-Policy"]
    return {
        name: rest for name, _, rest in (part.strip().partition(" ") for part in written.split(";"))
    }


@pytest.mark.parametrize("path", ["/docs", *(f"/docs/{name}" for name in LOADED)])
def test_every_file_of_the_reference_is_served_under_a_strict_policy(
    client: TestClient, path: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = policy_of(client, path)
    assert policy["default-src"] == "'none'"
    for name in ("script-src", "style-src", "connect-src"):
        assert policy[name] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert client.head(path).headers["ETag"] == answer.headers["ETag"]


def test_the_reference_loads_only_files_that_this_server_has(client: TestClient) -> None:
    html = client.get("/docs").text
    loaded = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert {f"docs/{name}" for name in LOADED} <= set(loaded)
    assert [path for path in loaded if client.get(f"/{path}").status_code != 200] == []
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\bsrc=)", html)


def test_the_reference_names_no_other_host() -> None:
    for file in SOURCES.iterdir():
        assert not re.search(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", file.read_text("utf-8")), file


@pytest.mark.parametrize(
    "path",
    ["/redoc", "/docs/", "/docs/oauth2-redirect", "/docs/index.html", "/docs/redoc.standalone.js"],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_reference_is_there_without_the_page() -> None:
    with TestClient(create_app(Settings(page=False), [fake_model(FakeRunner())])) as client:
        paths = ["/docs", *(f"/docs/{name}" for name in LOADED)]
        assert [client.get(path).status_code for path in paths] == [200] * len(paths)
        assert client.get("/").status_code == 404


def test_the_reference_needs_no_key(tmp_path: Path) -> None:
    settings = Settings(api_keys="required", database=tmp_path / "keys.sqlite")
    with TestClient(create_app(settings, [fake_model(FakeRunner())])) as client:
        for path in ("/docs", "/openapi.json", *(f"/docs/{name}" for name in LOADED)):
            assert client.get(path).status_code == 200


def test_metrics_have_one_label_for_the_files(client: TestClient) -> None:
    client.get("/docs/start.js")
    client.get("/docs/elsewhere.js")
    text = client.get("/metrics").text
    assert 'endpoint="/docs/"' in text
    assert "start.js" not in text
