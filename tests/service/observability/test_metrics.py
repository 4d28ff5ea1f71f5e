"""Laws of the metrics: bounded, without anybody's words, and counting what happened."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from tests.service.fakes import FakeRunner, until

LABEL = re.compile(r'(\w+)="([^"]*)"')
STREAM = "/translate/stream"


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
        body = {"q": f"secret text {i}", "source": "en", "target": "de", "api_key": f"key-{i}"}
        client.post("/translate", json=body, headers={"X-Request-ID": f"request-{i}"})
        client.post("/translate", json={**body, "target": f"x{i}"})
        client.get(f"/nowhere/{i}")
        client.request("BREW", "/translate")
    with client.websocket_connect(STREAM) as socket:
        for i in range(30):
            socket.send_json({"id": f"id-{i}", "q": f"words {i}", "source": "en", "target": "de"})
            while socket.receive_json()["type"] == "token":
                pass
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
        socket.send_json({"id": 1, "q": "abc", "source": "en", "target": "de"})
        until(lambda: bool(runner.running))
        socket.send_json({"id": 1, "cancel": True})
        socket.send_json({"id": 2, "q": "abc", "source": "en", "target": "de", "deadline_ms": 1})
        codes = {socket.receive_json()["code"] for _ in range(2)}
        assert codes == {"cancelled", "deadline"}
        runner.gate.set()
        for cause in ("client", "deadline"):
            line = f'dragoman_cancelled_total{{cause="{cause}",model="fake"}} 1.0'
            until(lambda line=line: line in client.get("/metrics").text)


def test_gauges_show_how_full_the_batch_is(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(STREAM) as socket:
        fields = {"q": "abc", "source": "en", "target": "de", "beam_size": 3}
        socket.send_json({"id": 1, **fields})
        until(lambda: bool(runner.running))
        exported = client.get("/metrics").text
        runner.gate.set()
        while socket.receive_json()["type"] != "final":
            pass
    sizes = {"slots": runner.max_slots, "rows": runner.max_rows}
    expected = {"workers": 1, "running": 1, "rows_used": 3, **sizes}
    for name, value in expected.items():
        assert f'dragoman_{name}{{model="fake"}} {value}.0' in exported
