"""The OpenAPI document names the errors of keys, limits, load and deadlines that the server gives.

Each test asks every operation of the document; what it answers must be described.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient

from service.http.error_answers import ErrorBody
from service.http.route_table import PATHS
from tests.service.fakes import FakeRunner
from tests.service.http.access.conftest import WRONG
from tests.service.http.clients import FIELDS, client_of

SUGGESTED = {**FIELDS, "s": "Hallo."}
GLOSSARY = {**FIELDS, "name": "mine", "entries": [{"source": "a", "target": "b"}]}
WORK = {"/translate", "/translate/next"}
Serve = Callable[..., TestClient]


class Operation(NamedTuple):
    method: str
    path: str
    responses: dict[str, Any]

    @property
    def is_open(self) -> bool:
        return PATHS.is_open(self.path)

    def ask(self, client: TestClient, **headers: str) -> httpx2.Response:
        """Ask it; the status must be described, and errors have the body that is described."""
        path, is_glossary = self.path.format(name="mine"), self.path.startswith("/glossaries")
        sent = {"json": GLOSSARY if is_glossary else SUGGESTED} if self.method in "POST PUT" else {}
        answer = client.request(self.method, path, headers=headers, **sent)
        described = self.responses.get(str(answer.status_code))
        assert described, f"{self.method} {path} answers {answer.status_code}, not described"
        if answer.status_code >= 400 and self.method != "HEAD":
            ErrorBody.model_validate_json(answer.content)
            schema = described["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}
        for name in ("Retry-After", "WWW-Authenticate"):
            assert (name in answer.headers) == (name in described.get("headers", {})), self
        return answer


def operations(client: TestClient) -> list[Operation]:
    document = client.get("/openapi.json").json()
    return [
        Operation(method.upper(), path, operation["responses"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.fixture
def serve(tmp_path: Path, runner: FakeRunner) -> Iterator[Serve]:
    with contextlib.ExitStack() as clients:

        def start(**settings: Any) -> TestClient:
            given = {"database": tmp_path / "server.db", "suggestions": True, **settings}
            return clients.enter_context(client_of(runner, **given))

        yield start
        runner.gate.set()


@pytest.mark.parametrize(
    ("mode", "headers", "status"),
    [("required", {}, 401), ("optional", {"Authorization": f"Bearer {WRONG}"}, 403)],
)
def test_without_a_key_where_one_is_required_and_with_a_wrong_one(
    serve: Serve, mode: str, headers: dict[str, str], status: int
) -> None:
    client = serve(api_keys=mode)
    for operation in operations(client):
        assert (operation.ask(client, **headers).status_code == status) != operation.is_open


def test_over_a_limit(serve: Serve) -> None:
    client = serve(requests_per_minute=1)
    told = operations(client)
    assert client.post("/detect", json=FIELDS).status_code == 200
    for operation in told:
        client.post("/detect", json=FIELDS)  # if a new minute has begun, its only request
        assert (operation.ask(client).status_code == 429) != operation.is_open


def test_while_the_server_stops(serve: Serve) -> None:
    client = serve()
    told = operations(client)
    for engine in client.app.state.server.engines.values():  # type: ignore[attr-defined]
        engine.refuse_new_work()
    refused = {one.path for one in told if one.ask(client).status_code == 503}
    assert refused == WORK | {"/health", "/health/ready"}


def test_after_the_deadline(serve: Serve, runner: FakeRunner) -> None:
    client = serve(deadline_seconds=0.05)
    runner.gate.clear()
    late = {one.path for one in operations(client) if one.ask(client).status_code == 504}
    assert late == WORK


def test_without_the_database(serve: Serve) -> None:
    client = serve()
    store = client.app.state.server.glossaries  # type: ignore[attr-defined]
    store.close()
    failed = {one.path for one in operations(client) if one.ask(client).status_code == 503}
    assert failed == {"/glossaries", "/glossaries/{name}"}


def test_open_operations_name_no_error_of_keys_and_limits(serve: Serve) -> None:
    found = operations(serve())
    for operation in found:
        named = {"401", "403", "429"} & operation.responses.keys()
        assert named == (set() if operation.is_open else {"401", "403", "429"}), operation
        assert {"431", "500", "503"} <= operation.responses.keys()
        assert ({"502", "504"} <= operation.responses.keys()) == (operation.path in WORK)
    assert {operation.path for operation in found if not operation.is_open} >= WORK


@pytest.mark.parametrize("settings", [{}, {"metrics_port": 9}])
def test_what_a_server_does_not_offer_is_not_described(
    serve: Serve, settings: dict[str, Any]
) -> None:
    every = {operation.path for operation in operations(serve())}
    with client_of(**settings) as client:
        offered = {operation.path for operation in operations(client)}
        absent = {"/glossaries", "/glossaries/{name}", "/suggest"}
        assert every - offered == absent | ({"/metrics"} if settings else set())
        for path in every - offered:
            answer = client.request("POST" if path == "/suggest" else "GET", path)
            assert answer.status_code == (403 if path == "/suggest" else 404)  # LibreTranslate's
            assert answer.json()["error"]
