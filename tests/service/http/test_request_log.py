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
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import WebSocketDenialResponse

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


def test_a_requests_line_is_written_as_all_others_are(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    client.get("/languages")
    (line,) = requests(capsys)
    assert next(iter(line)) == "event"
    stamps = {name: line.pop(name) for name in ("event", "level", "logger", "timestamp")}
    logging.getLogger(stamps["logger"]).info(stamps["event"], extra=line)
    (other,) = requests(capsys)
    assert other["timestamp"] > stamps["timestamp"]
    assert other == line | stamps | {"timestamp": other["timestamp"]}


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


def test_probes_are_logged_only_for_debugging(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    for level, count in (("info", 0), ("debug", 2)):
        configure_logs(level, "json", sys.stderr)
        client.get("/health/ready")
        client.get("/metrics")
        assert len(requests(capsys)) == count


def test_what_a_full_server_refuses_is_logged_only_for_debugging(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    client.app.state.server.engines["fake"].admission.num_sentences = 10**6  # type: ignore[attr-defined]
    for level, count in (("info", 0), ("debug", 1)):
        configure_logs(level, "json", sys.stderr)
        answer = client.post("/translate", json={"q": "a", "source": "en", "target": "de"})
        assert answer.status_code == 503
        assert len(requests(capsys)) == count
    client.app.state.server.engines["fake"].admission.num_sentences = 0  # type: ignore[attr-defined]


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


def test_a_websocket_that_is_refused_is_logged(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    headers = {"X-Request-ID": "ws", "Origin": "https://other.example"}
    with (
        pytest.raises(WebSocketDenialResponse),
        client.websocket_connect("/translate/stream", headers=headers),
    ):
        pass
    (line,) = requests(capsys)
    assert (line["request_id"], line["endpoint"]) == ("ws", "/translate/stream")
    assert (line["status"], line["outcome"]) == (403, "rejected")


def test_a_stream_that_fails_is_logged_as_failed(
    runner: FakeRunner, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    runner.fail_next_step = True
    client.post(
        "/translate",
        json={"q": "ab", "source": "en", "target": "de"},
        headers={"Accept": "text/event-stream"},
    )
    (line,) = requests(capsys)
    assert (line["outcome"], line["status"]) == ("error", 500)


def test_an_unforeseen_error_is_logged_with_its_place_but_no_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])

    async def broken(_: Request) -> Response:
        text = SECRET
        raise RuntimeError(f"{len(text)} characters")

    app.add_route("/broken", broken)
    configure_logs("info", "json", sys.stderr)
    with TestClient(app) as client:
        answer = client.get("/broken", headers={"X-Request-ID": "r"})
    assert answer.status_code == 500
    (failure,) = [line for line in lines(capsys) if line["event"] == "request failed"]
    assert (failure["request_id"], failure["level"]) == ("r", "error")
    frames = failure["exception"][0]["frames"]
    assert frames[-1]["name"] == "broken"
    assert SECRET not in json.dumps(failure)


def test_on_a_terminal_the_log_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "text", sys.stderr)
    logging.getLogger("x").info("up", extra={"port": 8000})
    assert "up" in (line := capsys.readouterr().err)
    assert "port=8000" in line
    assert not line.startswith("{")


def test_an_errors_traceback_is_readable_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "text", sys.stderr)
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("x").exception("broken")
    assert 'raise ValueError("boom")\nValueError\n' in capsys.readouterr().err
