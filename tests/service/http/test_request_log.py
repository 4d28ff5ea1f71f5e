"""What remains of a request: its line in the log, without a word of its text."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import WebSocketDenialResponse

from service.observability.logs import configure_logs
from tests.service.fakes import FakeRunner, until
from tests.service.http.clients import EVENTS, FIELDS, STREAM, last_message

SECRET = "sesame"


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
        json={**FIELDS, "q": [f"{SECRET} one. {SECRET} two.", "c"]},
        headers={"X-Request-ID": "mine-1", "Authorization": SECRET},
    )
    (line,) = requests(capsys)
    assert SECRET not in json.dumps(line).lower()
    assert next(iter(line)) == "event"
    assert {"level", "logger", "timestamp"} <= line.keys()
    assert line["request_id"] == "mine-1"
    assert (line["endpoint"], line["outcome"], line["status"]) == ("/translate", "ok", 200)
    assert (line["models"], line["sentences"]) == (["fake"], 3)
    assert line["target_tokens"] == 2 * len(f"{SECRET} one.") + 1
    assert line["max_decode_seconds"] + line["max_queue_seconds"] <= line["seconds"]


def test_a_request_that_is_refused_or_fails_is_logged_with_its_outcome(
    runner: FakeRunner, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    client.post("/translate", json={**FIELDS, "q": "x" * 1001})
    client.post(f"/{SECRET}", json={})
    headers = {"X-Request-ID": "ws", "Origin": "https://other.example"}
    with (
        pytest.raises(WebSocketDenialResponse),
        client.websocket_connect(STREAM, headers=headers),
    ):
        pass
    runner.fail_next_step = True
    client.post("/translate", json=FIELDS, headers=EVENTS)
    too_long, unknown, foreign, failed = requests(capsys)
    assert (too_long["outcome"], too_long["status"]) == ("rejected", 413)
    assert (unknown["endpoint"], unknown["status"]) == ("other", 404)
    assert SECRET not in json.dumps(unknown)
    assert (foreign["request_id"], foreign["endpoint"]) == ("ws", STREAM)
    assert (foreign["status"], foreign["outcome"]) == (403, "rejected")
    assert (failed["status"], failed["outcome"]) == (500, "error")


def test_probes_and_what_a_full_server_refuses_are_logged_only_for_debugging(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    client.app.state.server.models.pool.engines["fake"].refuse_new_work()  # type: ignore[attr-defined]
    for level, count in (("info", 0), ("debug", 3)):
        configure_logs(level, "json", sys.stderr)
        client.get("/health/ready")
        client.get("/metrics")
        assert client.post("/translate", json=FIELDS).status_code == 503
        assert len(requests(capsys)) == count


@pytest.mark.parametrize(
    ("level", "events"), [("info", {"request", "document"}), ("warning", set())]
)
def test_no_line_is_of_a_level_that_is_not_asked_for(
    level: str, events: set[str], client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(level, "json", sys.stderr)
    data = {"source": FIELDS["source"], "target": FIELDS["target"]}
    made = client.post("/documents", data=data, files={"file": ("a.txt", b"One.")}).json()
    until(lambda: client.get(f"/documents/{made['id']}").json()["status"] == "done")
    assert {line["event"] for line in lines(capsys)} == events


def test_each_request_of_a_websocket_is_logged_under_the_connections_id(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", sys.stderr)
    with client.websocket_connect(STREAM, headers={"X-Request-ID": "ws"}) as socket:
        for name, target in ((SECRET, "de"), ("2", "xx"), ("3", "de")):
            socket.send_json({"id": name, **FIELDS, "target": target})
            last_message(socket)
    logged = requests(capsys)
    assert [line["request_id"] for line in logged] == ["ws-1", "ws-2", "ws-3"]
    assert [line["outcome"] for line in logged] == ["ok", "client_error", "ok"]
    assert SECRET not in json.dumps(logged)


def test_an_unforeseen_error_is_logged_with_its_place_but_no_values(
    client: TestClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def broken(_: Request) -> Response:
        text = SECRET
        raise RuntimeError(f"{len(text)} characters")

    client.app.add_route("/broken", broken)  # type: ignore[attr-defined]
    configure_logs("info", "json", sys.stderr)
    answer = client.get("/broken", headers={"X-Request-ID": "r"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"] == "r"
    assert "characters" not in answer.text
    (failure,) = [line for line in lines(capsys) if line["event"] == "request failed"]
    assert (failure["request_id"], failure["level"]) == ("r", "error")
    frames = failure["exception"][0]["frames"]
    assert frames[-1]["name"] == "broken"
    assert SECRET not in json.dumps(failure)
