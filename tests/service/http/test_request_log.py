"""What remains of a request: its line in the log, without a word of its text."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from fastapi.testclient import TestClient

from service.app import create_app
from service.observability.logs import configure_logs
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

SECRET = "sesame"


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def requests(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [line for line in lines(capsys) if line["event"] == "request"]


def test_a_request_is_one_line_of_json_without_its_text(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    client.post(
        "/translate?key=" + SECRET,
        json={"q": [f"{SECRET} one. {SECRET} two.", "c"], "source": "en", "target": "de"},
        headers={"X-Request-ID": "mine-1", "Authorization": SECRET},
    )
    (line,) = requests(capsys)
    assert SECRET not in json.dumps(line).lower()
    assert line["request_id"] == "mine-1"
    assert (line["endpoint"], line["outcome"], line["status"]) == ("/translate", "ok", 200)
    assert (line["models"], line["sentences"]) == (["fake"], 3)
    assert line["target_tokens"] == 2 * len(f"{SECRET} one.") + 1
    assert line["max_decode_seconds"] + line["max_queue_seconds"] <= line["seconds"]


def test_a_refused_request_is_logged_with_its_outcome(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    client.post("/translate", json={"q": "x" * 1001, "source": "en", "target": "de"})
    client.post(f"/{SECRET}", json={})
    too_long, unknown = requests(capsys)
    assert (too_long["outcome"], too_long["status"]) == ("rejected", 413)
    assert (unknown["endpoint"], unknown["status"]) == ("other", 404)
    assert SECRET not in json.dumps(unknown)


def test_each_request_of_a_websocket_is_logged_under_the_connections_id(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    with client.websocket_connect("/translate/stream", headers={"X-Request-ID": "ws"}) as socket:
        for name, target in ((SECRET, "de"), ("2", "xx"), ("3", "de")):
            socket.send_json({"id": name, "q": "ab", "source": "en", "target": target})
            while socket.receive_json()["type"] == "token":
                pass
    logged = requests(capsys)
    assert [line["request_id"] for line in logged] == ["ws-1", "ws-2", "ws-3"]
    assert [line["outcome"] for line in logged] == ["ok", "client_error", "ok"]
    assert SECRET not in json.dumps(logged)


def test_an_unforeseen_error_is_logged_with_its_place_but_no_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])

    @app.get("/broken")
    async def broken() -> None:
        text = SECRET
        raise RuntimeError(f"{len(text)} characters")

    configure_logs("info", "json", sys.stderr)
    with TestClient(app) as client:
        answer = client.get("/broken", headers={"X-Request-ID": "r"})
    assert answer.status_code == 500
    (failure,) = [line for line in lines(capsys) if line["event"] == "request failed"]
    assert (failure["request_id"], failure["level"]) == ("r", "error")
    frames = failure["exception"][0]["frames"]
    assert frames[-1]["name"] == "broken"
    assert SECRET not in json.dumps(failure)
