"""The OpenAPI document names the ways to send a key that the server takes, and groups routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.http.route_table import PATHS
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import FakeRunner, fake_model

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
Serve = Callable[..., TestClient]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server with these settings, and a database."""
    with ExitStack() as clients:

        def start(**settings: Any) -> TestClient:
            given = Settings(database=tmp_path / "server.db", **settings)
            app = create_app(given, [fake_model(FakeRunner())])
            return clients.enter_context(TestClient(app))

        yield start


@pytest.fixture
def key(tmp_path: Path) -> str:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        return store.create(KeyOptions())[0]


def sent_as(scheme: dict[str, str], key: str) -> dict[str, dict[str, str]]:
    """The parts of a request that has the key as the document says."""
    if scheme["type"] == "http":
        return {"headers": {"Authorization": f"{scheme['scheme']} {key}"}}
    if scheme["in"] == "query":
        return {"params": {scheme["name"]: key}}
    is_deepl = scheme["name"] == "Authorization"
    return {"headers": {scheme["name"]: f"DeepL-Auth-Key {key}" if is_deepl else key}}


def test_each_way_that_is_described_is_taken_by_each_route_that_names_it(
    serve: Serve, key: str
) -> None:
    client = serve(api_keys="required")
    document = client.get("/openapi.json").json()
    schemes = document["components"]["securitySchemes"]
    assert len(schemes) == 4
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            ways = [name for way in operation.get("security", []) for name in way]
            assert ways == ([] if PATHS.is_open(path) else list(schemes))
            for name in ways:
                statuses = [
                    client.request(
                        method, path.format(name="a"), json=FIELDS, **sent_as(schemes[name], given)
                    ).status_code
                    for given in (key, key[:-1] + "?")
                ]
                is_suggestion = path == "/suggest"  # 403 also because it is switched off
                assert statuses[0] not in (401, 403) or is_suggestion, (name, path)
                assert statuses[1] == 403, (name, path)


def test_a_key_is_needed_only_where_the_server_says_so(serve: Serve) -> None:
    document = serve(api_keys="optional").get("/openapi.json").json()
    assert {} in document["paths"]["/translate"]["post"]["security"]
    document = serve(api_keys="required").get("/openapi.json").json()
    assert {} not in document["paths"]["/translate"]["post"]["security"]
