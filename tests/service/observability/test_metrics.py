"""Laws of the metrics: bounded, without anybody's words, and counting what happened."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from tests.service.fakes import FakeRunner, until
from tests.service.http.clients import FIELDS, STREAM, last_message

LABEL = re.compile(r'(\w+)="([^"]*)"')


def label_values(client: TestClient) -> dict[str, set[str]]:
    """Every label of our metrics with the values it has taken; bucket bounds left out."""
    values: dict[str, set[str]] = {}
    for line in client.get("/metrics").text.splitlines():
        if line.startswith("dragoman_"):
            for name, value in LABEL.findall(line):
                values.setdefault(name, set()).add(value)
    values.pop("le")
    return values


def test_labels_take_only_known_values_whatever_is_sent(client: TestClient) -> None:
    for i in range(30):
        body = {**FIELDS, "q": f"secret text {i}", "api_key": f"key-{i}"}
        client.post("/translate", json=body, headers={"X-Request-ID": f"request-{i}"})
        client.post("/translate", json={**body, "target": f"x{i}"})
        client.get(f"/nowhere/{i}")
        client.request("BREW", "/translate")
    with client.websocket_connect(STREAM) as socket:
        for i in range(30):
            socket.send_json({**FIELDS, "id": f"id-{i}", "q": f"words {i}"})
            last_message(socket)
    values = label_values(client)
    assert values["endpoint"] <= {"/translate", "/metrics", STREAM, "other"}
    assert values["outcome"] <= {"ok", "client_error", "server_error", "rejected", "cancelled"}
    assert set(values) <= {
        *("model", "endpoint", "outcome", "finish_reason", "reason", "version", "device"),
        *("precision", "cause", "result", "instruction_set"),
    }
    assert all(len(taken) < 8 for taken in values.values())
    exported = client.get("/metrics").text
    for word in ("secret", "words", "key-", "request-", "id-", "nowhere", "testclient"):
        assert word not in exported, word


def test_a_sentence_that_is_given_up_counts_by_its_cause(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, **FIELDS})
        until(lambda: bool(runner.running))
        socket.send_json({"id": 1, "cancel": True})
        socket.send_json({"id": 2, **FIELDS, "deadline_ms": 1})
        codes = {socket.receive_json()["code"] for _ in range(2)}
        assert codes == {"cancelled", "deadline"}
        runner.gate.set()
        for cause in ("client", "deadline"):
            line = f'dragoman_cancelled_total{{cause="{cause}",model="fake"}} 1.0'
            until(lambda line=line: line in client.get("/metrics").text)


def test_gauges_show_how_full_the_batch_is(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, **FIELDS, "beam_size": 3})
        until(lambda: bool(runner.running))
        exported = client.get("/metrics").text
        runner.gate.set()
        assert last_message(socket)["type"] == "final"
    sizes = {"slots": runner.max_slots, "rows": runner.max_rows}
    expected = {"workers": 1, "running": 1, "rows_used": 3, **sizes}
    for name, value in expected.items():
        assert f'dragoman_{name}{{model="fake"}} {value}.0' in exported
