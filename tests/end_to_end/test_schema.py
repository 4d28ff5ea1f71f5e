"""The OpenAPI schema says what is true: schemathesis holds the real server to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from service.app import create_app
from service.loading import load_models
from service.settings import Settings
from tests.service.served import Served, served

ROOT = Path(__file__).parents[2]
MODELS = (ROOT / "checkpoints/zh-en", ROOT / "checkpoints/en-de")
SCHEMATHESIS = [sys.executable, "-m", "schemathesis.cli", "run"]
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["400", "405", "413", "415", "422"]
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    """With the bundled models: one that stores nothing, and one that stores what can be stored."""
    database = tmp_path_factory.mktemp("database") / "dragoman.sqlite"
    plain = Settings(model=MODELS)
    storing = Settings(model=MODELS, database=database, suggestions=True)
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(served(create_app(settings, load_models(settings))))
            for name, settings in (("plain", plain), ("storing", storing))
        }


@pytest.fixture
def server(servers: dict[str, Served]) -> Served:
    return servers["plain"]


@pytest.mark.parametrize(("name", "num_operations"), [("plain", 20), ("storing", 28)])
def test_schemathesis_finds_nothing_that_the_schema_does_not_say(
    servers: dict[str, Served], tmp_path: Path, name: str, num_operations: int
) -> None:
    server = servers[name]
    (tmp_path / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    options = ["--checks", "all", "--phases", "examples,coverage,fuzzing", "--no-color"]
    options += ["--max-examples", "60", "--max-time", "30", "--generation-deterministic"]
    options += ["--continue-on-failure", "--suppress-health-check=filter_too_much"]
    finished = subprocess.run(
        [*SCHEMATHESIS, f"{server.url}/openapi.json", *options],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.end_to_end.schema_hooks",
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert f"{num_operations} selected / {num_operations} total" in finished.stdout
    assert 'outcome="error"' not in server.metrics()


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
