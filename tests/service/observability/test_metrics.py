"""Laws of the metrics: bounded, without anybody's words, and counting what happened."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from tests.service.fakes import FakeRunner, until
from tests.service.http.clients import FIELDS, STREAM, last_message

LABEL = re.compile(r'(\w+)="([^"]*)"')
SERIES = re.compile(r'^dragoman_(\w+){model="fake"} (.+)$', re.MULTILINE)


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


@pytest.mark.parametrize("beam_size", [1, 3])
def test_each_histogram_counts_what_it_is_of(
    client: TestClient, runner: FakeRunner, beam_size: int
) -> None:
    answer = client.post("/translate", json={**FIELDS, "beam_size": beam_size, "details": True})
    (text,) = answer.json()["details"]
    num_target, num_steps = len(text["sentences"][0]["log_probs"]), runner.num_steps
    found = dict(SERIES.findall(client.get("/metrics").text))
    once = ("queue_wait_seconds", "encode_seconds", "time_to_first_token_seconds")
    counts = {**dict.fromkeys(once, 1), "inter_token_seconds": num_steps - 1}
    sums = {"source_tokens_per_sentence": 5, "target_tokens_per_sentence": num_target}
    counts |= {"decode_step_seconds": num_steps, "step_rows": num_steps, **dict.fromkeys(sums, 1)}
    sums["step_rows"] = num_steps * beam_size
    assert {name: float(found[f"{name}_count"]) for name in counts} == counts
    assert {name: float(found[f"{name}_sum"]) for name in sums} == sums
