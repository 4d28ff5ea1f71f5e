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


@pytest.mark.parametrize(
    "path",
    ["/redoc", "/docs/", "/docs/oauth2-redirect", "/docs/index.html", "/docs/redoc.standalone.js"],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
